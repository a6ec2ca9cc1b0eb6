INSERT INTO job (id, grp, total, done, good, cached, finished_at, verified) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
