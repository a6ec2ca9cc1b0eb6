-- the primary key of tour_url
SELECT key, depth, sitemap FROM tour_url WHERE tour = $1 AND key = ANY ($2::bytea[])
