-- a range of the primary key
SELECT seq, place, label, url FROM pin WHERE job = $1 ORDER BY seq FOR UPDATE
