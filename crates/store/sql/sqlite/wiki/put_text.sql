INSERT INTO wiki_text (page, hash, block, start, length) VALUES (?1, ?2, ?3, ?4, ?5)
ON CONFLICT (page, hash) DO UPDATE SET block = excluded.block, start = excluded.start, length = excluded.length
