-- tour_open, all of it: running tours whose task is at its end
SELECT t.id FROM tour t WHERE t.state = 0 AND coalesce((SELECT k.state FROM task k WHERE k.id = t.task), 5) > 2 LIMIT $1 FOR UPDATE OF t SKIP LOCKED
