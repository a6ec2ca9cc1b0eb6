INSERT INTO tour_url (tour, key, site, url, depth, sitemap, n, waiting)
SELECT $1::bigint, n.key, n.site, n.url, n.depth, n.sitemap, n.n, true
FROM unnest($2::bytea[], $3::text[], $4::text[], $5::integer[], $6::boolean[], $7::bigint[]) AS n (key, site, url, depth, sitemap, n)
