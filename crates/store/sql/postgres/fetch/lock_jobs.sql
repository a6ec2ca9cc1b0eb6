SELECT id, grp, total, done, good, cached, cancelled, finished_at, quiet, verified FROM job WHERE id = ANY ($1::bigint[]) ORDER BY id FOR NO KEY UPDATE
