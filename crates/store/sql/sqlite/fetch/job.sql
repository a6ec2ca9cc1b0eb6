SELECT id, grp, total, done, good, cached, cancelled, finished_at, quiet, verified FROM job WHERE id = ?1
