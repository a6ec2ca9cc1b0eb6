SELECT id, name, role, disabled, created_at FROM usr WHERE id = $1
