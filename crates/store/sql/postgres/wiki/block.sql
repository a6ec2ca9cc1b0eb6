SELECT b.bytes, b.packed, b.object
FROM wiki_block b WHERE b.page = (SELECT p.id FROM wiki_page p WHERE p.wiki = $1 AND p.pageid = $2) AND b.number = $3
