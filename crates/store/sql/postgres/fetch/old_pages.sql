-- the first entries of page_kept
SELECT p.id, p.body, (SELECT s.page FROM shelf s WHERE s.key = p.key) IS NOT DISTINCT FROM p.id
FROM page p WHERE p.kept_until < $1 ORDER BY p.kept_until LIMIT $2 FOR UPDATE SKIP LOCKED
