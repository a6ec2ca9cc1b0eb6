-- The kind of a task that is needed and will not be done. As many rows are looked at as batches wait.
SELECT 'analyze.map' FROM analysis_waiting w
WHERE w.analysis = $1 AND coalesce((SELECT t.state FROM task t WHERE t.id = w.task), 5) >= 3
UNION ALL
SELECT 'analyze.reduce' FROM analysis a
WHERE a.id = $1 AND a.reduce IS NOT NULL AND coalesce((SELECT t.state FROM task t WHERE t.id = a.reduce), 5) >= 3
LIMIT 1
