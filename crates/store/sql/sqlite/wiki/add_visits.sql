UPDATE wiki SET visits = CASE WHEN visits_day = ?2 THEN visits ELSE 0 END + ?3, visits_day = ?2 WHERE id = ?1
