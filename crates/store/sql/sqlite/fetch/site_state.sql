SELECT state FROM site WHERE key = ?1
