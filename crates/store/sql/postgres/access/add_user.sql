INSERT INTO usr (name, role, password_hash, created_at) VALUES ($1, $2, $3, $4) RETURNING id
