SELECT malla_prune_lanes($1, $2)
