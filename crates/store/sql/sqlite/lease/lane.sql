-- One lane, if it may start something.
SELECT id, key, ceiling, gap_ms, running, next_start_at
FROM lane
WHERE key = ?1 AND ready_at <= ?2
