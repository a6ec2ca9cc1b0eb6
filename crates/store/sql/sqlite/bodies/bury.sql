DELETE FROM dead_object WHERE name = ?1
