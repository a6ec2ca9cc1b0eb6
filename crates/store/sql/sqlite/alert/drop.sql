DELETE FROM alert WHERE id = ?1
