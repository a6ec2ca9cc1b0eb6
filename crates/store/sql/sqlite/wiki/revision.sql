SELECT r.revid, r.parentid, p.pageid, r.at, u.name, r.userid, r.flags, r.size, n.sha1, n.model, n.format, n.comment, n.parsed_comment,
       n.tags, n.text
FROM wiki_revision r
CROSS JOIN wiki_page p ON p.id = r.page
CROSS JOIN wiki_note n ON n.wiki = r.wiki AND n.revid = r.revid
LEFT JOIN wiki_user u ON u.id = r.editor
WHERE r.wiki = ?1 AND r.revid = ?2
