UPDATE job SET quiet = 1 WHERE id = ?1
