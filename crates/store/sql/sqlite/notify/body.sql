SELECT packed, body FROM event WHERE id = ?1
