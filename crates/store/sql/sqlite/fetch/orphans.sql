-- the wishes are as many as pages wait
SELECT DISTINCT w.task FROM wish w LEFT JOIN task t ON t.id = w.task
WHERE t.id IS NULL OR t.state > 2
ORDER BY w.task
LIMIT ?1
