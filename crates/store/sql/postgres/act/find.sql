SELECT t.grp, t.state, n.paused, l.task IS NOT NULL
FROM task t JOIN lane n ON n.id = t.lane LEFT JOIN lease l ON l.task = t.id
WHERE t.id = $1
