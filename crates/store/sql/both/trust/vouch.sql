UPDATE page SET verified = TRUE WHERE id = $1
