-- All members are read: there are few. The columns are those of both/cluster/member.sql.
UPDATE cluster_member SET lost_at = $1, to_restart = false WHERE lost_at IS NULL AND seen_at <= $2
RETURNING id, name, machine, address, roles, version, medic, supervises, load, joined_at, seen_at, lost_at, to_restart
