SELECT r.page, r.at, r.extracted_at, r.size, r.flags, n.sha1, r.editor, u.name
FROM wiki_revision r
CROSS JOIN wiki_note n ON n.wiki = r.wiki AND n.revid = r.revid
LEFT JOIN wiki_user u ON u.id = r.editor
WHERE r.wiki = ?1 AND r.revid = ?2
