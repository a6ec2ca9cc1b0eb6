UPDATE tour SET forgotten = 1 WHERE id = ?1
