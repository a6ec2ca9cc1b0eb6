-- ranges of the primary key of wish
SELECT DISTINCT w.task FROM wish w JOIN job j ON j.id = w.job
WHERE w.task = ANY ($1::bigint[]) AND NOT j.cancelled AND j.verified
