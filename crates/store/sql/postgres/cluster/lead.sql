UPDATE cluster_leader SET term = $1, member = $2, name = $3, since = $4, until = $5 WHERE id = 1
