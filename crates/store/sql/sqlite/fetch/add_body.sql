INSERT INTO body (hash, bytes, packed) VALUES (?1, ?2, ?3)
