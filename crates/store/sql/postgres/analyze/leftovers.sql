-- the first entries of analysis_leftover
SELECT id, forgotten FROM analysis WHERE leftover ORDER BY id LIMIT $1 FOR UPDATE SKIP LOCKED
