SELECT id, name FROM grp WHERE id = ANY ($1)
