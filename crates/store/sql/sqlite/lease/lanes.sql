-- Lanes that may start something, longest in line first: a range of lane_ready, as long as what is taken.
SELECT id, key, ceiling, gap_ms, running, next_start_at
FROM lane
WHERE room = ?1 AND ready_at <= ?2
ORDER BY ready_at
LIMIT ?3
