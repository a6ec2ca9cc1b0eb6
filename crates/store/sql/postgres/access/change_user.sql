UPDATE usr SET role = $2, disabled = $3, password_hash = coalesce($4, password_hash) WHERE id = $1
