DELETE FROM body WHERE id = ?1 AND pages = 0
