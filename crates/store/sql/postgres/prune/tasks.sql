SELECT malla_prune_tasks($1, $2)
