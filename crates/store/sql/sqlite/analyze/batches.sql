-- a range of the primary key
SELECT input, part, seq, hash, size, mapped FROM analysis_batch
WHERE analysis = ?1 AND (input, part, seq) > (?2, ?3, ?4) AND (SELECT NOT forgotten FROM analysis WHERE id = ?1)
ORDER BY input, part, seq LIMIT ?5
