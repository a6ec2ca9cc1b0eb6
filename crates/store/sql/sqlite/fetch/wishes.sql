-- a range of the primary key of wish
SELECT job, seq, url FROM wish WHERE task = ?1
