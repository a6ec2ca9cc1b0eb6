DELETE FROM analysis_dimension WHERE rowid IN (SELECT rowid FROM analysis_dimension WHERE analysis = ?1 LIMIT ?2)
