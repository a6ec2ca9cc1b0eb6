UPDATE job SET cancelled = true, finished_at = $2 WHERE id = $1
