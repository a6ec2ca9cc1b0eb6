-- ids tell the time
DELETE FROM event WHERE id IN (SELECT id FROM event WHERE id < ?1 ORDER BY id LIMIT ?2)
