-- Nothing if there are as many as may be.
INSERT INTO cluster_member (name, machine, address, roles, version, medic, supervises, load, joined_at, seen_at)
SELECT $1::text, $2::text, $3::text, $4::text, $5::text, $6::bigint, $7::boolean, $8::text, $9::bigint, $9::bigint
WHERE (SELECT count(*) FROM cluster_member) < $10::bigint
RETURNING id
