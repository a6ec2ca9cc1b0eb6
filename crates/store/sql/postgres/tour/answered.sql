-- the primary key of tour_site, matched with what is given by a hash
UPDATE tour_site s SET under_way = greatest(s.under_way - n.count, 0)
FROM unnest($2::text[], $3::bigint[]) AS n (site, count) WHERE s.tour = $1 AND s.site = ANY ($2::text[]) AND s.site = n.site
