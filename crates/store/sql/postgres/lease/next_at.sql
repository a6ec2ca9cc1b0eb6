-- the first entry of lane_ready for each room
SELECT min(n.ready_at)
FROM unnest($1::text[]) AS r (room)
CROSS JOIN LATERAL (SELECT ready_at FROM lane WHERE room = r.room AND ready_at IS NOT NULL ORDER BY ready_at LIMIT 1) n
