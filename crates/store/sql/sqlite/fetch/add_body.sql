INSERT INTO body (hash, pages, bytes, packed) VALUES (?1, 1, ?2, ?3) ON CONFLICT (hash) DO NOTHING
