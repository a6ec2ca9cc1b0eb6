SELECT r.revid, (SELECT p.pageid FROM wiki_page p WHERE p.id = r.page), r.at, r.size, r.editor IS NULL, n.comment IS NULL, n.sha1,
       n.text, r.flags
FROM unnest($2::bigint[]) AS k (revid)
CROSS JOIN LATERAL (SELECT * FROM wiki_revision WHERE wiki = $1 AND wiki_revision.revid = k.revid OFFSET 0) r
CROSS JOIN LATERAL (SELECT * FROM wiki_note WHERE wiki = $1 AND wiki_note.revid = k.revid OFFSET 0) n
