INSERT INTO token (name, hash, role, grp, created_by, created_at, expires_at) VALUES ($1, $2, $3, $4, $5, $6, $7)
