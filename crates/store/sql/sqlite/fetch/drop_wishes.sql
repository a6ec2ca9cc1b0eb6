DELETE FROM wish WHERE task = ?1
