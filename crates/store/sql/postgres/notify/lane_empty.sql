-- task_lane
SELECT NOT EXISTS (SELECT 1 FROM task WHERE lane = $1)
