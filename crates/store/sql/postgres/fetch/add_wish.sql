INSERT INTO wish (task, job, seq, url) VALUES ($1, $2, $3, $4)
