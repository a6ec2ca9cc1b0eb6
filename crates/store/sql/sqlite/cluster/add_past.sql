INSERT INTO cluster_past (term, name, began_at, held_until) VALUES (?1, ?2, ?3, ?3)
