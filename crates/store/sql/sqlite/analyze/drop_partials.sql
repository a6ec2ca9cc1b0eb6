DELETE FROM analysis_partial WHERE rowid IN (SELECT rowid FROM analysis_partial WHERE analysis = ?1 LIMIT ?2)
