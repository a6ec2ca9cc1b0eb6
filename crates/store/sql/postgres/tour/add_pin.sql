INSERT INTO pin (job, seq, place, label, url, deadline) VALUES ($1, $2, $3, $4, $5, $6)
