UPDATE shelf SET fresh_until = ?2, etag = coalesce(?3, etag), last_modified = coalesce(?4, last_modified), used_at = ?5
WHERE key = ?1
