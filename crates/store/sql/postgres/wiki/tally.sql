SELECT at, revid, packed FROM wiki_tally WHERE page = (SELECT p.id FROM wiki_page p WHERE p.wiki = $1 AND p.pageid = $2)
