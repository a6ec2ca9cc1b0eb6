-- a range of the primary key of answer
SELECT a.n, a.url, a.cached, a.page, p.url, p.status, p.headers, p.bytes, p.trouble, p.note, p.fetched_at, p.took_ms, p.device, b.packed, b.object, coalesce(p.verified, FALSE)
FROM answer a LEFT JOIN page p ON p.id = a.page LEFT JOIN body b ON b.id = p.body
WHERE a.job = ?1 AND a.n > ?2
ORDER BY a.n
LIMIT ?3
