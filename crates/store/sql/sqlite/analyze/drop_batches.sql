DELETE FROM analysis_batch WHERE rowid IN (SELECT rowid FROM analysis_batch WHERE analysis = ?1 LIMIT ?2)
