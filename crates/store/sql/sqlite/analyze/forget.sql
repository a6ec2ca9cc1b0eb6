UPDATE analysis SET forgotten = 1, leftover = 1 WHERE id = ?1
