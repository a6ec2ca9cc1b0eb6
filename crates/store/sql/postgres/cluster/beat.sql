UPDATE cluster_member SET seen_at = $2, load = $3, lost_at = NULL WHERE id = $1
