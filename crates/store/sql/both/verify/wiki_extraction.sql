-- An extraction that is under way has a task. (One that failed or was discarded ends it soon.)
SELECT 'extraction number ' || e.id || ' is under way, but its task ' || CASE WHEN t.id IS NULL THEN 'is not there' ELSE 'succeeded' END
FROM wiki_extraction e LEFT JOIN task t ON t.id = e.task
WHERE e.state < 2 AND (t.id IS NULL OR t.state = 3)
