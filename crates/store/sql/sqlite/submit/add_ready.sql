INSERT INTO ready (lane, prio, run_at, task) VALUES (?1, ?2, ?3, ?4)
