-- The answers of an analysis are made by one task.
SELECT 'lane ' || n.key || ' has ' || sum(c.open + c.paused + c.notified + c.succeeded + c.failed + c.discarded) || ' tasks that make answers'
FROM lane_tally c JOIN lane n ON n.id = c.lane
WHERE c.kind = 'analyze.reduce'
GROUP BY n.id, n.key
HAVING sum(c.open + c.paused + c.notified + c.succeeded + c.failed + c.discarded) > 1
