-- the first entries of lane_ready
SELECT n.key, n.ready_at, n.gap_ms, n.ceiling, s.state, s.robots_until,
       (SELECT coalesce(sum(t.open), 0)::bigint FROM lane_tally t WHERE t.lane = n.id)
FROM (SELECT id, key, ready_at, gap_ms, ceiling FROM lane WHERE room = 'fetch' AND ready_at IS NOT NULL ORDER BY ready_at LIMIT $1) n
LEFT JOIN LATERAL (SELECT state, robots_until FROM site WHERE site.key = n.key OFFSET 0) s ON true
ORDER BY n.ready_at
