-- the first entries of awaiting
SELECT t.id, t.kind, t.grp, t.failures, t.lapses, t.retry, n.key
FROM awaiting a JOIN task t ON t.id = a.task JOIN lane n ON n.id = t.lane
WHERE a.due_at <= $1
ORDER BY a.due_at
LIMIT $2
