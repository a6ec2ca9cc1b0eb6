DELETE FROM answer WHERE job = ?1 AND n IN (SELECT n FROM answer WHERE job = ?1 ORDER BY n LIMIT ?2)
