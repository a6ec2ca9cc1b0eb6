SELECT 1 FROM wiki_extraction WHERE id = $1 FOR UPDATE
