INSERT INTO event (id, kind, grp, task, body) VALUES (?1, ?2, ?3, ?4, ?5)
