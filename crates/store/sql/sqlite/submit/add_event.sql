INSERT INTO event (id, kind, grp, task, bytes, body) VALUES (?1, ?2, ?3, ?4, length(?5), ?5)
