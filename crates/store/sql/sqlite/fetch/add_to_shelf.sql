INSERT INTO shelf (key, page, fresh_until, etag, last_modified, used_at, bytes) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
ON CONFLICT (key) DO NOTHING
