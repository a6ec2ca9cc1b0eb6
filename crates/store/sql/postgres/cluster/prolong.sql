UPDATE cluster_leader SET until = $1 WHERE id = 1
