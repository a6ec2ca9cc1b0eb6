-- Finished tasks of a lane by age: the front of task_lane, looked through as far as $3 with those that are not finished.
SELECT id, kind, grp, state FROM (SELECT id, kind, grp, state FROM task WHERE lane = $1 AND id < $2 ORDER BY id LIMIT $3) t
WHERE state > 2 LIMIT $4
