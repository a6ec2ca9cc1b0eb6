INSERT INTO wiki_month (wiki, month, edits, minor, anonymous) VALUES (?1, ?2, ?3, ?4, ?5)
ON CONFLICT (wiki, month) DO UPDATE
SET edits = edits + excluded.edits, minor = minor + excluded.minor, anonymous = anonymous + excluded.anonymous
RETURNING edits
