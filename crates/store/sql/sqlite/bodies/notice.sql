UPDATE dead_object SET since = ?2 WHERE name = ?1 AND since IS NULL
