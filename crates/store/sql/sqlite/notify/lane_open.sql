-- What waits, runs or is paused in a lane: the primary key of ready, the small lease table, task_state (the plus keeps
-- task_lane out of it, which would read every finished task of the lane).
SELECT task FROM ready WHERE lane = ?1
UNION ALL SELECT task FROM lease WHERE lane = ?1
UNION ALL SELECT id FROM task WHERE state = 1 AND +lane = ?1
LIMIT ?2
