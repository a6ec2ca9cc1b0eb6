INSERT INTO job (id, grp, total, done, good, cached, finished_at) VALUES ($1, $2, $3, $4, $5, $6, $7)
