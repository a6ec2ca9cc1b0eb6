-- the first entries of analysis_finished
UPDATE analysis SET forgotten = true, leftover = true
WHERE id = ANY (ARRAY(
    SELECT id FROM analysis WHERE finished_at < $1 AND NOT forgotten ORDER BY finished_at LIMIT $2 FOR UPDATE SKIP LOCKED
))
