-- Each batch that waits has a task that will map it. (One that failed or was discarded ends the analysis soon.)
SELECT 'the batch ' || w.input || '/' || w.part || '/' || w.seq || ' of analysis number ' || a.id || ' is not mapped, but its task '
       || CASE WHEN t.id IS NULL THEN 'is not there' ELSE 'succeeded' END
FROM analysis a JOIN analysis_waiting w ON w.analysis = a.id LEFT JOIN task t ON t.id = w.task
WHERE a.state < 2 AND (t.id IS NULL OR t.state = 3)
