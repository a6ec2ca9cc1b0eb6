DELETE FROM cluster_past WHERE term <= $1
