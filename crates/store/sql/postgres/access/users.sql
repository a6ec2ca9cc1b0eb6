SELECT id, name, role, disabled, created_at FROM usr WHERE name > $1 ORDER BY name LIMIT $2
