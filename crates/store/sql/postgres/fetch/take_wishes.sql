-- ranges of the primary key of wish
DELETE FROM wish WHERE task = ANY ($1::bigint[]) RETURNING task, job, seq, url
