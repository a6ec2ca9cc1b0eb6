SELECT part FROM analysis_part WHERE analysis = ?1 ORDER BY part
