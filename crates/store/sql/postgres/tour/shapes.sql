-- the primary key of tour_shape
SELECT shape, n FROM tour_shape WHERE tour = $1 AND shape = ANY ($2::bytea[])
