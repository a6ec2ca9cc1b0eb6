INSERT INTO shelf (key, page, fresh_until, etag, last_modified, used_at, bytes)
SELECT n.key, n.page, n.fresh_until, n.etag, n.last_modified, $7::bigint, n.bytes
FROM unnest($1::bytea[], $2::bigint[], $3::bigint[], $4::text[], $5::text[], $6::bigint[]) AS n (key, page, fresh_until, etag, last_modified, bytes)
ORDER BY n.key
ON CONFLICT (key) DO UPDATE SET
    page = excluded.page, fresh_until = excluded.fresh_until, etag = excluded.etag, last_modified = excluded.last_modified,
    used_at = excluded.used_at, bytes = excluded.bytes
