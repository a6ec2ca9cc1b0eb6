INSERT INTO body (hash, bytes, packed)
SELECT * FROM unnest($1::bytea[], $2::bigint[], $3::bytea[]) AS n (hash, bytes, packed) ORDER BY hash
ON CONFLICT (hash) DO NOTHING
RETURNING hash, id
