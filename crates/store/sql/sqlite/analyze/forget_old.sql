-- the first entries of analysis_finished
UPDATE analysis SET forgotten = 1, leftover = 1
WHERE id IN (SELECT id FROM analysis WHERE finished_at < ?1 AND forgotten = 0 ORDER BY finished_at LIMIT ?2)
