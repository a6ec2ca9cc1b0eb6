INSERT INTO event (id, kind, grp, task, bytes, body)
SELECT malla_id($1), n.kind, n.grp, n.task, octet_length(n.body), n.body
FROM unnest($2::text[], $3::bigint[], $4::bigint[], $5::bytea[]) AS n (kind, grp, task, body)
