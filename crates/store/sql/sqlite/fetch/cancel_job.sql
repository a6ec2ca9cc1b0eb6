UPDATE job SET cancelled = 1, finished_at = ?2 WHERE id = ?1
