-- the first entries of page_kept
SELECT p.id, p.body, EXISTS (SELECT 1 FROM shelf s WHERE s.key = p.key AND s.page = p.id)
FROM page p WHERE p.kept_until < ?1 ORDER BY p.kept_until LIMIT ?2
