INSERT INTO body (hash, pages, bytes, packed, object) VALUES (?1, 1, ?2, ?3, ?4) ON CONFLICT (hash) DO NOTHING
