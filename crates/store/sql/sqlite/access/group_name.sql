SELECT name FROM grp WHERE id = ?1
