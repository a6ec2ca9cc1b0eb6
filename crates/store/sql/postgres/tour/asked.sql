-- the primary key of tour_url
UPDATE tour_url u SET waiting = false, url = '' FROM unnest($2::bytea[]) AS n (key) WHERE u.tour = $1 AND u.key = n.key
