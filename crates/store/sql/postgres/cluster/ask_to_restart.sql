UPDATE cluster_member SET to_restart = true WHERE id = $1
