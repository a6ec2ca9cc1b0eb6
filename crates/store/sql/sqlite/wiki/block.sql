SELECT b.page, b.bytes, b.packed, b.object
FROM wiki_page p CROSS JOIN wiki_block b ON b.page = p.id AND b.number = ?3
WHERE p.wiki = ?1 AND p.pageid = ?2
