-- Asked behind their locks: a page may have come.
DELETE FROM body WHERE id = ANY ($1::bigint[]) AND (SELECT p.id FROM page p WHERE p.body = body.id LIMIT 1) IS NULL
