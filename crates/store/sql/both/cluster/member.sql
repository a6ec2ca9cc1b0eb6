SELECT m.id, m.name, m.machine, m.address, m.roles, m.version, m.medic, m.supervises, m.load, m.joined_at, m.seen_at, m.lost_at, m.to_restart FROM cluster_member m
