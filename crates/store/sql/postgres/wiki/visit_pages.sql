UPDATE wiki_page SET visited_at = $3
WHERE id = ANY (ARRAY(SELECT p.id FROM wiki_page p WHERE p.wiki = $1 AND p.pageid = ANY ($2::bigint[])))
