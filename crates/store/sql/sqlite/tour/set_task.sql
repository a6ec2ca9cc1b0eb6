UPDATE tour SET task = ?2 WHERE id = ?1
