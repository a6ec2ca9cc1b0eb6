INSERT INTO tour_site (tour, site, waiting, under_way, turn) VALUES (?1, ?2, ?3, 0, 0)
ON CONFLICT DO UPDATE SET waiting = waiting + excluded.waiting
