SELECT term FROM cluster_leader WHERE id = 1
