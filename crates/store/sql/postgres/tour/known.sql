-- the primary key of tour_url
SELECT u.key FROM unnest($2::bytea[]) AS n (key) JOIN tour_url u ON u.tour = $1 AND u.key = n.key
