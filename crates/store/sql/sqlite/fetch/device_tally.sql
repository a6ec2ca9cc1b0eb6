SELECT tally FROM device WHERE id = ?1
