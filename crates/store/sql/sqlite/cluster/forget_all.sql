DELETE FROM cluster_member
