INSERT INTO wiki_editor (wiki, editor, edits) VALUES (?1, ?2, ?3)
ON CONFLICT (wiki, editor) DO UPDATE SET edits = edits + excluded.edits
RETURNING edits
