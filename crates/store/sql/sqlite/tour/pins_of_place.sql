-- a range of pin_place
SELECT job, seq, label, url, deadline FROM pin WHERE place = ?1 ORDER BY job, seq LIMIT ?2
