-- a range of the primary key of answer
SELECT a.n, a.url, a.cached, a.page, p.url, p.status, p.headers, p.bytes, p.trouble, p.note, p.fetched_at, p.took_ms, p.device, b.packed, b.object, coalesce(p.verified, FALSE)
FROM (SELECT * FROM answer WHERE job = $1 AND n > $2 ORDER BY n LIMIT $3) a
LEFT JOIN LATERAL (SELECT * FROM page WHERE page.id = a.page OFFSET 0) p ON true
LEFT JOIN LATERAL (SELECT packed, object FROM body WHERE body.id = p.body OFFSET 0) b ON true
ORDER BY a.n
