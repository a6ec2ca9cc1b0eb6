-- by wiki_text_block
SELECT t.hash, t.block, t.start, t.length
FROM wiki_text t WHERE t.page = (SELECT p.id FROM wiki_page p WHERE p.wiki = $1 AND p.pageid = $2) AND t.block = $3
ORDER BY t.start, t.length
