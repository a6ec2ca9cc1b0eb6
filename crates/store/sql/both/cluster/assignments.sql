SELECT a.medic, a.role, a.count FROM cluster_assignment a ORDER BY a.medic, a.role
