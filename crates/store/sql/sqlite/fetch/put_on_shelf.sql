INSERT INTO shelf (key, page, fresh_until, etag, last_modified, used_at, bytes) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
ON CONFLICT (key) DO UPDATE SET page = ?2, fresh_until = ?3, etag = ?4, last_modified = ?5, used_at = ?6, bytes = ?7
