-- the primary key of tour_url
SELECT key FROM tour_url WHERE tour = $1 AND key = ANY ($2::bytea[])
