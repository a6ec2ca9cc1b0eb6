INSERT INTO body (hash, bytes, packed, object)
SELECT * FROM unnest($1::bytea[], $2::bigint[], $3::bytea[], $4::text[]) AS n (hash, bytes, packed, object) ORDER BY hash
ON CONFLICT (hash) DO NOTHING
RETURNING hash, id
