-- For each of these subscriptions, by primary key.
SELECT f.subject, f.body FROM unnest($1::bigint[]) AS n (subject)
CROSS JOIN LATERAL (SELECT subject, body FROM figure WHERE step = 0 AND subject_kind = 1 AND subject = n.subject AND begin_at >= $2 OFFSET 0) f
