-- by primary key, newest first
SELECT id, packed, substring(body FROM 1 FOR $4) FROM event WHERE id >= $1 AND id < $2 ORDER BY id DESC LIMIT $3
