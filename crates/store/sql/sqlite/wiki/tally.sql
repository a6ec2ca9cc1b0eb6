SELECT t.at, t.revid, t.packed
FROM wiki_page p CROSS JOIN wiki_tally t ON t.page = p.id
WHERE p.wiki = ?1 AND p.pageid = ?2
