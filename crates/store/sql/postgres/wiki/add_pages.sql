-- Those that are not kept yet, of wikis that are there; in one order, so that two who add the same wait for each other.
INSERT INTO wiki_page (wiki, pageid, title, ns, deleted, first_extraction, last_extraction)
SELECT n.wiki, n.pageid, n.title, n.ns, n.deleted, $6, $6
FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::bigint[], $5::boolean[]) AS n (wiki, pageid, title, ns, deleted)
WHERE (SELECT w.id FROM wiki w WHERE w.id = n.wiki) IS NOT NULL
  AND (SELECT p.id FROM wiki_page p WHERE p.wiki = n.wiki AND p.pageid = n.pageid) IS NULL
ORDER BY n.wiki, n.pageid
ON CONFLICT (wiki, pageid) DO NOTHING
RETURNING id
