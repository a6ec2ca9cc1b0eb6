SELECT id FROM body WHERE hash = ?1
