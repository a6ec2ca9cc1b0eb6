DELETE FROM job WHERE id = ANY ($1::bigint[]) AND (SELECT a.n FROM answer a WHERE a.job = job.id LIMIT 1) IS NULL
