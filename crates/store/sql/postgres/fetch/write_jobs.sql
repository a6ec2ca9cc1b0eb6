UPDATE job SET done = n.done, good = n.good, cached = n.cached, finished_at = n.finished_at
FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[]) AS n (id, done, good, cached, finished_at)
WHERE job.id = ANY ($1::bigint[]) AND job.id = n.id
