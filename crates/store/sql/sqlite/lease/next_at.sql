-- the first entry of lane_ready
SELECT min(ready_at) FROM lane WHERE room = ?1 AND ready_at IS NOT NULL
