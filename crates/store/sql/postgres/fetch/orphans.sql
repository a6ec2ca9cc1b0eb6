-- The wishes are as many as pages wait.
SELECT w.task FROM (SELECT DISTINCT task FROM wish) w
WHERE coalesce((SELECT t.state FROM task t WHERE t.id = w.task), 5) > 2
ORDER BY w.task
LIMIT $1
