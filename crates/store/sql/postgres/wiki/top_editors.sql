-- the first entries of the wiki in wiki_editor_edits
SELECT (SELECT u.name FROM wiki_user u WHERE u.id = e.editor), e.edits
FROM (SELECT editor, edits FROM wiki_editor WHERE wiki = $1 ORDER BY edits DESC, editor LIMIT $2) e
