-- a range of the primary key of wish
SELECT EXISTS (SELECT 1 FROM wish w JOIN job j ON j.id = w.job WHERE w.task = ?1 AND j.cancelled = 0 AND j.verified = TRUE)
