SELECT s.page, s.fresh_until, s.etag, s.last_modified, s.used_at, coalesce((SELECT p.verified FROM page p WHERE p.id = s.page), 0)
FROM shelf s WHERE s.key = ?1
