DELETE FROM trust_check WHERE id IN (SELECT id FROM trust_check WHERE at < $1 ORDER BY at LIMIT $2)
