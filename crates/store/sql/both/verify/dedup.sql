SELECT 'task number ' || coalesce(t.id, d.task) || ': its dedup key and its state disagree'
FROM (SELECT t.id, t.dedup, n.room FROM task t JOIN lane n ON n.id = t.lane WHERE t.dedup IS NOT NULL AND t.state IN (0, 1, 2)) t
FULL JOIN dedup d ON d.task = t.id AND d.key = t.dedup AND d.room = t.room
WHERE t.id IS NULL OR d.task IS NULL
