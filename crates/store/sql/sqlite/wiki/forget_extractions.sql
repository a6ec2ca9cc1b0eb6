-- the first entries of wiki_extraction_finished
DELETE FROM wiki_extraction WHERE id IN (
    SELECT id FROM wiki_extraction WHERE finished_at < ?1 ORDER BY finished_at LIMIT ?2
)
