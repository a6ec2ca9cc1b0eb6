-- the first entries of job_finished
SELECT id FROM job WHERE finished_at < $1 ORDER BY finished_at LIMIT $2 FOR UPDATE SKIP LOCKED
