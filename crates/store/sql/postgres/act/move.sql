SELECT moved, taken, rouse FROM malla_move($1, $2, $3, $4, $5, $6, $7)
