-- the front of dead_object_since
SELECT name FROM dead_object WHERE since IS NULL LIMIT ?1
