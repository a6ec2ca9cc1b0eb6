-- the first entries of the wiki in wiki_editor_edits
SELECT u.name, e.edits FROM wiki_editor e CROSS JOIN wiki_user u ON u.id = e.editor
WHERE e.wiki = ?1 ORDER BY e.edits DESC, e.editor LIMIT ?2
