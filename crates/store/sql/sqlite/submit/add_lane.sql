INSERT INTO lane (key, room, grp, ceiling, gap_ms, used_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
