DELETE FROM cluster_assignment WHERE medic = ?1
