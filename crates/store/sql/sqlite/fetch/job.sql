SELECT id, grp, total, done, good, cached, cancelled, finished_at, quiet FROM job WHERE id = ?1
