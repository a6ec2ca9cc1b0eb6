DELETE FROM device WHERE id IN (SELECT id FROM device WHERE seen_at < ?1 AND blocked = 0 LIMIT ?2)
