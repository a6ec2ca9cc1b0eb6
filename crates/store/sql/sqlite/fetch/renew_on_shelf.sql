UPDATE shelf SET page = ?2, fresh_until = ?3, etag = ?4, last_modified = ?5, used_at = ?6, bytes = ?7 WHERE key = ?1
