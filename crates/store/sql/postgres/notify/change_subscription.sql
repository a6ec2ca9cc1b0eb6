UPDATE subscription SET state = $2, spec = $3, retry = $4 WHERE id = $1
