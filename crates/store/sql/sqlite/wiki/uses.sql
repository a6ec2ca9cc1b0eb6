-- all revisions of the page: this is asked when something is erased, which is rare
SELECT n.text, count(*)
FROM wiki_page p
CROSS JOIN wiki_revision r ON r.page = p.id
CROSS JOIN wiki_note n ON n.wiki = r.wiki AND n.revid = r.revid
WHERE p.wiki = ?1 AND p.pageid = ?2 AND hex(n.text) IN (SELECT value FROM json_each(?3))
GROUP BY n.text
