UPDATE event SET endpoint = 1 WHERE id = ?1 AND endpoint IS NULL
