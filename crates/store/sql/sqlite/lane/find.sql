-- unique index on key
SELECT id, grp, paused, ceiling, gap_ms, running, next_start_at, least_gap_ms FROM lane WHERE key = ?1
