DELETE FROM pin WHERE job = $1 AND seq = $2
