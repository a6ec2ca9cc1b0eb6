SELECT p.url, p.status, p.headers, p.bytes, p.trouble, p.note, p.fetched_at, p.took_ms, p.device, b.packed, b.object
FROM page p LEFT JOIN body b ON b.id = p.body WHERE p.id = $1
