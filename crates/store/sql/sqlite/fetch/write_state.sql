INSERT INTO site (key, state) VALUES (?1, ?2) ON CONFLICT (key) DO UPDATE SET state = ?2
