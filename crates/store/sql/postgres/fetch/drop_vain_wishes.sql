-- of jobs that are cancelled or forgotten
DELETE FROM wish WHERE task = ANY ($1::bigint[]) AND (SELECT j.cancelled FROM job j WHERE j.id = wish.job) IS NOT FALSE
