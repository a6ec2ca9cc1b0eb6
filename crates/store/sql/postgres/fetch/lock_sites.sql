SELECT malla_lock_sites($1, $2, $3, $4, $5, $6, $7)
