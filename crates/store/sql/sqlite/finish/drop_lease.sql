DELETE FROM lease WHERE task = ?1
