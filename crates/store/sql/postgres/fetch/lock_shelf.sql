-- by primary key
SELECT s.key, s.page, s.bytes, (SELECT p.body FROM page p WHERE p.id = s.page)
FROM shelf s WHERE s.key = ANY ($1::bytea[]) ORDER BY s.key FOR UPDATE OF s
