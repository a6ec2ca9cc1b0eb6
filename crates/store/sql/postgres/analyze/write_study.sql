UPDATE analysis SET state = $2::smallint, changed_at = $3, finished_at = $4, expected = $5, taken = $6, mapped = $7, bytes = $8,
       waiting_bytes = $9, lines_read = $10, lines_bad = $11, samples = $12, why = $13, leftover = ($2::smallint >= 2)
WHERE id = $1
