-- Finished tasks by age: a stretch of task_state, and whether the lane has a retention of its own.
SELECT id, lane, kind, grp, lane IN (SELECT s.lane FROM subscription s JOIN endpoint p ON p.id = s.endpoint WHERE p.keep_days IS NOT NULL)
FROM task WHERE state = ?1 AND id > ?2 AND id < ?3 ORDER BY id LIMIT ?4
