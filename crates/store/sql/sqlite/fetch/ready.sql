-- a range of lane_ready
SELECT l.key, l.ready_at, l.gap_ms, l.ceiling, s.state, s.robots_until
FROM lane l LEFT JOIN site s ON s.key = l.key
WHERE l.room = 'fetch' AND l.ready_at <= ?1
ORDER BY l.ready_at
LIMIT ?2
