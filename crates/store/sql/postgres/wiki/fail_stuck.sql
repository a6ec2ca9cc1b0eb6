-- asked again behind the lock, where an extraction and its task say the same
UPDATE wiki_extraction SET state = 3, note = $2, changed_at = $3, finished_at = $3
WHERE id = ANY ($1::bigint[]) AND state < 2
  AND coalesce((SELECT t.state FROM task t WHERE t.id = wiki_extraction.task), 5) >= 3
