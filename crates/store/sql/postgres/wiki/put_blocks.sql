INSERT INTO wiki_block (page, number, bytes, packed)
SELECT n.page, n.number, n.bytes, n.packed
FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bytea[]) AS n (page, number, bytes, packed)
ON CONFLICT (page, number) DO UPDATE SET bytes = excluded.bytes, packed = excluded.packed
