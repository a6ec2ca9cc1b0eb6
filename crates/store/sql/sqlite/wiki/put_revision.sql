INSERT INTO wiki_revision (page, at, revid, wiki, parentid, editor, userid, size, flags, extracted_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
ON CONFLICT (page, at, revid) DO UPDATE
SET parentid = excluded.parentid, editor = excluded.editor, userid = excluded.userid, size = excluded.size, flags = excluded.flags
