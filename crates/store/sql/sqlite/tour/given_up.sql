-- tour_open, all of it: running tours whose task is at its end
SELECT t.id FROM tour t LEFT JOIN task k ON k.id = t.task WHERE t.state = 0 AND (k.id IS NULL OR k.state > 2) LIMIT ?1
