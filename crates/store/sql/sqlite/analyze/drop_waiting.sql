DELETE FROM analysis_waiting WHERE rowid IN (SELECT rowid FROM analysis_waiting WHERE analysis = ?1 LIMIT ?2)
