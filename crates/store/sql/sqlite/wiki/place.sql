SELECT t.block, t.start, t.length
FROM wiki_page p CROSS JOIN wiki_text t ON t.page = p.id AND t.hash = ?3
WHERE p.wiki = ?1 AND p.pageid = ?2
