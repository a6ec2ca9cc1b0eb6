UPDATE page SET headers = n.headers, kept_until = greatest(page.kept_until, $3)
FROM unnest($1::bigint[], $2::text[]) AS n (id, headers)
WHERE page.id = ANY ($1::bigint[]) AND page.id = n.id
