SELECT joined_at FROM device WHERE id = $1
