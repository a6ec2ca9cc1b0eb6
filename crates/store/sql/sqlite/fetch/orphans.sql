-- the wishes are as many as pages wait
SELECT DISTINCT w.task, t.state, n.key FROM wish w LEFT JOIN task t ON t.id = w.task LEFT JOIN lane n ON n.id = t.lane
WHERE t.id IS NULL OR t.state > 2
LIMIT ?1
