UPDATE shelf SET
    fresh_until = n.fresh_until, etag = coalesce(n.etag, shelf.etag), last_modified = coalesce(n.last_modified, shelf.last_modified),
    used_at = $5
FROM unnest($1::bytea[], $2::bigint[], $3::text[], $4::text[]) AS n (key, fresh_until, etag, last_modified)
WHERE shelf.key = ANY ($1::bytea[]) AND shelf.key = n.key
