INSERT INTO figure (step, subject_kind, subject, begin_at, process, body)
SELECT n.step, n.subject_kind, n.subject, n.begin_at, $5, n.body
FROM unnest($1::smallint[], $2::smallint[], $3::bigint[], $4::bigint[], $6::text[]) AS n (step, subject_kind, subject, begin_at, body)
ON CONFLICT (step, subject_kind, subject, begin_at, process) DO UPDATE SET body = excluded.body
