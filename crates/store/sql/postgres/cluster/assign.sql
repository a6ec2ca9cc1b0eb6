INSERT INTO cluster_assignment (medic, role, count)
SELECT n.medic, n.role, n.count FROM unnest($1::bigint[], $2::text[], $3::bigint[]) AS n (medic, role, count)
