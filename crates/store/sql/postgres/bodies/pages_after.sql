-- by primary key; the bytes are not read
SELECT id, object, octet_length(packed)::bigint FROM body WHERE id > $1 ORDER BY id LIMIT $2
