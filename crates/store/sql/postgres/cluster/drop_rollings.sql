DELETE FROM cluster_rolling WHERE id <= $1
