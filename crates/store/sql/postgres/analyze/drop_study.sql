DELETE FROM analysis WHERE id = $1
