DELETE FROM analysis_answer WHERE rowid IN (SELECT rowid FROM analysis_answer WHERE analysis = ?1 LIMIT ?2)
