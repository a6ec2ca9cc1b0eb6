-- of jobs that are cancelled or forgotten
DELETE FROM wish WHERE task = ?1 AND NOT EXISTS (SELECT 1 FROM job j WHERE j.id = wish.job AND j.cancelled = 0)
