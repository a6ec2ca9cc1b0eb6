DELETE FROM cluster_member WHERE id = ?1
