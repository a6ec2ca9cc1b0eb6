UPDATE cluster_past SET held_until = $2 WHERE term = $1
