UPDATE job SET done = ?2, good = ?3, cached = ?4, finished_at = ?5 WHERE id = ?1
