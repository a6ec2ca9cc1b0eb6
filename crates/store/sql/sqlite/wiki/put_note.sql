INSERT INTO wiki_note (wiki, revid, sha1, model, format, comment, parsed_comment, tags, text)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
ON CONFLICT (wiki, revid) DO UPDATE
SET sha1 = excluded.sha1, model = excluded.model, format = excluded.format, comment = excluded.comment,
    parsed_comment = excluded.parsed_comment, tags = excluded.tags, text = excluded.text
