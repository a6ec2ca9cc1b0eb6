DELETE FROM device WHERE seen_at < ?1 AND blocked = 0 AND id IN (SELECT id FROM device WHERE seen_at < ?1 LIMIT ?2)
