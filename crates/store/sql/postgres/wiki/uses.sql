-- all revisions of the page: this is asked when something is erased, which is rare
SELECT n.text, count(*)
FROM (SELECT * FROM wiki_revision WHERE page = (SELECT p.id FROM wiki_page p WHERE p.wiki = $1 AND p.pageid = $2) OFFSET 0) r
CROSS JOIN LATERAL (SELECT text FROM wiki_note WHERE wiki = r.wiki AND revid = r.revid OFFSET 0) n
WHERE n.text = ANY ($3::bytea[])
GROUP BY n.text
