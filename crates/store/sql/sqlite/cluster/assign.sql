INSERT INTO cluster_assignment (medic, role, count) VALUES (?1, ?2, ?3)
