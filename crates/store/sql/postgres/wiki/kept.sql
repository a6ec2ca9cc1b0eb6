SELECT k.wiki, k.revid, k.page, k.at, k.extracted_at, k.size, k.flags,
       (SELECT m.sha1 FROM wiki_note m WHERE m.wiki = k.wiki AND m.revid = k.revid),
       k.editor, (SELECT u.name FROM wiki_user u WHERE u.id = k.editor)
FROM unnest($1::bigint[], $2::bigint[]) AS n (wiki, revid)
CROSS JOIN LATERAL (SELECT * FROM wiki_revision r WHERE r.wiki = n.wiki AND r.revid = n.revid OFFSET 0) k
