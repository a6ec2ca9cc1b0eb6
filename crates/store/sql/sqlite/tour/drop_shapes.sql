DELETE FROM tour_shape WHERE tour = ?1 AND shape IN (SELECT shape FROM tour_shape WHERE tour = ?1 LIMIT ?2)
