INSERT INTO wiki_block (page, number, bytes, packed, object)
SELECT n.page, n.number, n.bytes, n.packed, n.object
FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bytea[], $5::text[]) AS n (page, number, bytes, packed, object)
ON CONFLICT (page, number) DO UPDATE SET bytes = excluded.bytes, packed = excluded.packed, object = excluded.object
