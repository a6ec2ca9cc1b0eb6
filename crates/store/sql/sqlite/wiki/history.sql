-- a range of the primary key
SELECT r.revid, r.parentid, p.pageid, r.at, u.name, r.userid, r.flags, r.size, n.sha1, n.model, n.format, n.comment, n.parsed_comment,
       n.tags, n.text
FROM wiki_page p
CROSS JOIN wiki_revision r ON r.page = p.id AND (r.at, r.revid) > (?3, ?4)
CROSS JOIN wiki_note n ON n.wiki = r.wiki AND n.revid = r.revid
LEFT JOIN wiki_user u ON u.id = r.editor
WHERE p.wiki = ?1 AND p.pageid = ?2
ORDER BY r.at, r.revid LIMIT ?5
