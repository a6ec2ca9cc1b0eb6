-- unique index on key
SELECT id, grp, paused, ceiling, gap_ms, running, next_start_at, settled FROM lane WHERE key = ?1
