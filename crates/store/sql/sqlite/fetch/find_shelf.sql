SELECT page, fresh_until, etag, last_modified, used_at FROM shelf WHERE key = ?1
