SELECT id, grp, total, done, good, cached, cancelled, finished_at FROM job WHERE id = $1
