UPDATE wish SET task = ?2 WHERE task = ?1
