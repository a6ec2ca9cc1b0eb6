-- A revision has its page, of its own wiki, and all its parts.
SELECT 'revision ' || r.revid || ' of wiki number ' || r.wiki || ' lacks its '
       || CASE WHEN p.id IS NULL THEN 'page' WHEN n.revid IS NULL THEN 'note' ELSE 'user' END
FROM wiki_revision r
LEFT JOIN wiki_page p ON p.id = r.page AND p.wiki = r.wiki
LEFT JOIN wiki_note n ON n.wiki = r.wiki AND n.revid = r.revid
LEFT JOIN wiki_user u ON u.id = r.editor
WHERE p.id IS NULL OR n.revid IS NULL OR (r.editor IS NOT NULL AND u.id IS NULL)
