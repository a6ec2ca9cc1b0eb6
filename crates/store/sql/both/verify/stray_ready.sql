SELECT 'task number ' || r.task || ' stands in line but should not'
FROM ready r LEFT JOIN task t ON t.id = r.task
WHERE t.id IS NULL OR t.state <> 0 OR t.lane <> r.lane OR t.prio <> r.prio OR t.run_at <> r.run_at
