-- by primary key, one seek a URL
SELECT s.key, s.page, s.fresh_until, s.etag, s.last_modified, s.used_at
FROM unnest($1::bytea[]) AS k (key) CROSS JOIN LATERAL (SELECT * FROM shelf WHERE shelf.key = k.key OFFSET 0) s
