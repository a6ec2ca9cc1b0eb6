SELECT 'task number ' || coalesce(t.id, a.task) || ': notified and its confirmation disagree'
FROM (SELECT id, run_at FROM task WHERE state = 2) t
FULL JOIN awaiting a ON a.task = t.id AND a.due_at = t.run_at
WHERE t.id IS NULL OR a.task IS NULL
