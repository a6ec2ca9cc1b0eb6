UPDATE shelf SET fresh_until = ?3, etag = coalesce(?4, etag), last_modified = coalesce(?5, last_modified), used_at = ?6
WHERE key = ?1 AND page = ?2
