-- by primary key, newest first
SELECT id, packed, body FROM event WHERE id > ?1 AND id >= ?2 AND id < ?3 ORDER BY id DESC LIMIT ?4
