INSERT INTO tour_shape (tour, shape, n) VALUES (?1, ?2, ?3) ON CONFLICT DO UPDATE SET n = excluded.n
