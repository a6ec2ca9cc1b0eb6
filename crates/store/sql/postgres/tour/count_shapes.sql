INSERT INTO tour_shape (tour, shape, n) SELECT $1::bigint, n.shape, n.n FROM unnest($2::bytea[], $3::bigint[]) AS n (shape, n)
ON CONFLICT (tour, shape) DO UPDATE SET n = excluded.n
