SELECT r.at, r.machine, r.role, r.why, r.note, r.delay_ms FROM cluster_restart r ORDER BY r.id DESC LIMIT ?1
