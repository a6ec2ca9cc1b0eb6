-- by primary key
SELECT id, packed, body FROM event WHERE id > ?1 ORDER BY id LIMIT ?2
