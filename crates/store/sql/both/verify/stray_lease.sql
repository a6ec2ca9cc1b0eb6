SELECT 'task number ' || l.task || ' has a lease but is not open'
FROM lease l LEFT JOIN task t ON t.id = l.task
WHERE t.id IS NULL OR t.state <> 0 OR t.lane <> l.lane
