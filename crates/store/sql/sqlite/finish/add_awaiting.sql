INSERT INTO awaiting (due_at, task) VALUES (?1, ?2)
