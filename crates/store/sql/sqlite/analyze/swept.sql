UPDATE analysis SET leftover = 0 WHERE id = ?1
