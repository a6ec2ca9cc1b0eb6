UPDATE job SET total = $2, done = $3, good = $4, cached = $5, finished_at = $6 WHERE id = $1
