SELECT done, rouse FROM malla_dispatch($1, $2, $3, $4, $5, $6)
