-- one seek for each that is under way
UPDATE wiki_extraction SET state = 3, note = ?2, changed_at = ?3, finished_at = ?3
WHERE id IN (
    SELECT e.id FROM wiki_extraction e INDEXED BY wiki_extraction_under_way
    WHERE e.state < 2 AND coalesce((SELECT t.state FROM task t WHERE t.id = e.task), 5) >= 3
    ORDER BY e.id LIMIT ?1
)
