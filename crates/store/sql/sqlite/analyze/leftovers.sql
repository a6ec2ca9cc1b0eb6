-- the first entries of analysis_leftover
SELECT id, forgotten FROM analysis WHERE leftover = 1 ORDER BY id LIMIT ?1
