DELETE FROM session WHERE hash IN (SELECT hash FROM session WHERE expires_at <= $1 LIMIT $2)
