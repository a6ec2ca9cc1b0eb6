SELECT r.page, r.at, r.extracted_at, r.editor, u.name
FROM wiki_revision r LEFT JOIN wiki_user u ON u.id = r.editor
WHERE r.wiki = ?1 AND r.revid = ?2
