UPDATE endpoint SET version = version + 1 WHERE id = $1
