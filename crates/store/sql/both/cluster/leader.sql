SELECT l.term, l.member, l.name, l.since, l.until FROM cluster_leader l WHERE l.id = 1
