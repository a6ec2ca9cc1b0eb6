INSERT INTO session (hash, usr, csrf, expires_at) VALUES ($1, $2, $3, $4)
