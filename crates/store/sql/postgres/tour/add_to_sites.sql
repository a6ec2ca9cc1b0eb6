INSERT INTO tour_site (tour, site, waiting, under_way, turn) SELECT $1::bigint, n.site, n.more, 0, 0 FROM unnest($2::text[], $3::bigint[]) AS n (site, more)
ON CONFLICT (tour, site) DO UPDATE SET waiting = tour_site.waiting + excluded.waiting
