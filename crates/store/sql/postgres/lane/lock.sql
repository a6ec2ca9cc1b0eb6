-- unique index on key
SELECT id, grp, paused, ceiling, gap_ms, running, next_start_at FROM lane WHERE key = $1 FOR NO KEY UPDATE
