INSERT INTO answer (job, n, url, page, cached)
SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::bigint[], $5::boolean[])
