INSERT INTO wish (task, job, seq, url)
SELECT n.task, $1::bigint, n.seq, n.url FROM unnest($2::bigint[], $3::bigint[], $4::text[]) AS n (task, seq, url)
