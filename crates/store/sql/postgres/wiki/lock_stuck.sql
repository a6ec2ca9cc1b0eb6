-- one seek for each that is under way
SELECT e.id FROM wiki_extraction e
WHERE e.state < 2 AND coalesce((SELECT t.state FROM task t WHERE t.id = e.task), 5) >= 3
ORDER BY e.id LIMIT $1 FOR UPDATE SKIP LOCKED
