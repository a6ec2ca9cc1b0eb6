-- the primary key of tour_url
UPDATE tour_url SET waiting = false, url = '' WHERE tour = $1 AND key = ANY ($2::bytea[])
