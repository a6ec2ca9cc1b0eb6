DELETE FROM cluster_member WHERE lost_at <= ?1
