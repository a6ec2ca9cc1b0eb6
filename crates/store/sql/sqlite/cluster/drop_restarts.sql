DELETE FROM cluster_restart WHERE id <= ?1
