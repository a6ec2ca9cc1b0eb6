-- a range of the primary key
SELECT input, seq, partial FROM analysis_partial
WHERE analysis = $1 AND part = $2 AND (input, seq) > ($3, $4) ORDER BY input, seq LIMIT $5
