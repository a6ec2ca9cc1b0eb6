-- the first entries of lane_ready
SELECT l.key, l.ready_at, l.gap_ms, l.ceiling, s.state, s.robots_until,
       (SELECT coalesce(sum(t.open), 0) FROM lane_tally t WHERE t.lane = l.id)
FROM lane l LEFT JOIN site s ON s.key = l.key
WHERE l.room = 'fetch' AND l.ready_at IS NOT NULL
ORDER BY l.ready_at
LIMIT ?1
