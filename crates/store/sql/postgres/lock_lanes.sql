SELECT malla_lock_lanes($1, $2, $3, $4, $5, $6, $7)
