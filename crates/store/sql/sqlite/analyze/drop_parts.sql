DELETE FROM analysis_part WHERE analysis = ?1 AND part IN (SELECT part FROM analysis_part WHERE analysis = ?1 LIMIT ?2)
