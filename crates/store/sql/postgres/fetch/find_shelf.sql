-- by primary key, one seek a URL
SELECT s.key, s.page, s.fresh_until, s.etag, s.last_modified, s.used_at, COALESCE((SELECT p.verified FROM page p WHERE p.id = s.page), FALSE)
FROM unnest($1::bytea[]) AS k (key) CROSS JOIN LATERAL (SELECT * FROM shelf WHERE shelf.key = k.key OFFSET 0) s
