-- a range of wiki_revision_history
SELECT r.revid, r.parentid, $2::bigint, r.at, (SELECT u.name FROM wiki_user u WHERE u.id = r.editor), r.userid, r.flags, r.size,
       n.sha1, n.model, n.format, n.comment, n.parsed_comment, n.tags, n.text
FROM (
    SELECT * FROM wiki_revision
    WHERE page = (SELECT p.id FROM wiki_page p WHERE p.wiki = $1 AND p.pageid = $2) AND (at, revid) > ($3, $4)
    ORDER BY at, revid LIMIT $5
) r
CROSS JOIN LATERAL (SELECT * FROM wiki_note WHERE wiki = r.wiki AND revid = r.revid OFFSET 0) n
ORDER BY r.at, r.revid
