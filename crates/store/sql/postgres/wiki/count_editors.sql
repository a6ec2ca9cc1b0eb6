-- in one order, so that two who count the same wait for each other
INSERT INTO wiki_editor (wiki, editor, edits)
SELECT n.wiki, n.editor, n.more FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS n (wiki, editor, more)
ORDER BY n.wiki, n.editor
ON CONFLICT (wiki, editor) DO UPDATE SET edits = wiki_editor.edits + excluded.edits
RETURNING wiki, editor, edits
