-- tour_open
SELECT coalesce(sum(weight), 0) FROM tour WHERE kind = ?1 AND state = 0
