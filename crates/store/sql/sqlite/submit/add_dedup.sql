INSERT INTO dedup (room, key, task) VALUES (?1, ?2, ?3)
