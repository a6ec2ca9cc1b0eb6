INSERT INTO tour (id, grp, kind, state, spec, progress, weight, task) VALUES (?1, ?2, ?3, 0, ?4, ?5, ?6, ?7)
