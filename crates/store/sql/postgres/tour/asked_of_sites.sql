-- the primary key of tour_site, matched with what is given by a hash
UPDATE tour_site s SET waiting = s.waiting - n.taken, under_way = s.under_way + n.taken, turn = $4
FROM unnest($2::text[], $3::bigint[]) AS n (site, taken) WHERE s.tour = $1 AND s.site = ANY ($2::text[]) AND s.site = n.site
