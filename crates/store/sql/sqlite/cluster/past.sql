SELECT p.term, p.name, p.began_at, p.held_until FROM cluster_past p ORDER BY p.term DESC LIMIT ?1
