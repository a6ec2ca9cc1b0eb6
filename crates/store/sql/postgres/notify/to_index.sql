-- by primary key; the beginning of a body is enough
SELECT id, packed, substring(body FROM 1 FOR $4) FROM event WHERE id > $1 AND id < $2 ORDER BY id LIMIT $3
