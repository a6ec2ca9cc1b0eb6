-- These pages, and those that have one of these revisions now; a seek each, in the order of their numbers.
SELECT id, wiki, pageid, version FROM wiki_page
WHERE id = ANY (ARRAY(
    SELECT (SELECT p.id FROM wiki_page p WHERE p.wiki = n.wiki AND p.pageid = n.pageid)
    FROM unnest($1::bigint[], $2::bigint[]) AS n (wiki, pageid)
    UNION
    SELECT (SELECT r.page FROM wiki_revision r WHERE r.wiki = n.wiki AND r.revid = n.revid)
    FROM unnest($3::bigint[], $4::bigint[]) AS n (wiki, revid)
))
ORDER BY id FOR NO KEY UPDATE
