DELETE FROM subscription WHERE id = ?1
