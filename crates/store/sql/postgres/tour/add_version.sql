INSERT INTO tour_version (tour, n, at, facts, text, bytes) VALUES ($1, $2, $3, $4, $5, $6)
