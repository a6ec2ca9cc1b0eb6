-- the primary key of tour_shape
SELECT s.shape, s.n FROM unnest($2::bytea[]) AS n (shape) JOIN tour_shape s ON s.tour = $1 AND s.shape = n.shape
