SELECT password_hash FROM usr WHERE name = $1 AND NOT disabled
