-- unique index on name
SELECT id, name, role, disabled, created_at FROM usr WHERE name = $1
