DELETE FROM once WHERE (scope, key) IN (SELECT scope, key FROM once WHERE expires_at <= $1 LIMIT $2)
