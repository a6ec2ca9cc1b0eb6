UPDATE trust_check SET state = $1, first = $2, second = $3, ended_at = $4, body = $5 WHERE id = $6
