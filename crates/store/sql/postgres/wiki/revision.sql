SELECT r.revid, r.parentid, (SELECT p.pageid FROM wiki_page p WHERE p.id = r.page), r.at,
       (SELECT u.name FROM wiki_user u WHERE u.id = r.editor), r.userid, r.flags, r.size, n.sha1, n.model, n.format, n.comment,
       n.parsed_comment, n.tags, n.text
FROM (SELECT * FROM wiki_revision WHERE wiki = $1 AND revid = $2 OFFSET 0) r
CROSS JOIN LATERAL (SELECT * FROM wiki_note WHERE wiki = r.wiki AND revid = r.revid OFFSET 0) n
