DELETE FROM event WHERE id = ?1
