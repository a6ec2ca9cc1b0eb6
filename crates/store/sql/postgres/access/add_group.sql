INSERT INTO grp (name, created_at) VALUES ($1, $2) RETURNING id
