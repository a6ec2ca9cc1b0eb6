-- tour_open
SELECT count(*) FROM tour WHERE kind = ?1 AND state < 2
