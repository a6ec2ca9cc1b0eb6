SELECT k.wiki, k.revid, k.page, k.at, k.extracted_at, k.editor, (SELECT u.name FROM wiki_user u WHERE u.id = k.editor)
FROM unnest($1::bigint[], $2::bigint[]) AS n (wiki, revid)
CROSS JOIN LATERAL (
    SELECT r.wiki, r.revid, r.page, r.at, r.extracted_at, r.editor FROM wiki_revision r WHERE r.wiki = n.wiki AND r.revid = n.revid OFFSET 0
) k
