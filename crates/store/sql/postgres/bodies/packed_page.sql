SELECT packed FROM body WHERE id = $1 AND object IS NULL
