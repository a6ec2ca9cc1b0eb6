UPDATE site SET robots_status = n.status, robots = n.packed, robots_at = n.at, robots_until = n.until
FROM unnest($1::text[], $2::integer[], $3::bytea[], $4::bigint[], $5::bigint[]) AS n (key, status, packed, at, until)
WHERE site.key = ANY ($1::text[]) AND site.key = n.key
