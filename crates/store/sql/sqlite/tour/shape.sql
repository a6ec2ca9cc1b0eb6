SELECT n FROM tour_shape WHERE tour = ?1 AND shape = ?2
