INSERT INTO wiki_block (page, number, bytes, packed, object) VALUES (?1, ?2, ?3, ?4, ?5)
ON CONFLICT (page, number) DO UPDATE SET bytes = excluded.bytes, packed = excluded.packed, object = excluded.object
