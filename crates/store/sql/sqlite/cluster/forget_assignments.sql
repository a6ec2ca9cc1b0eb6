DELETE FROM cluster_assignment WHERE medic NOT IN (SELECT id FROM cluster_member)
