INSERT INTO analysis (id, grp, kind, params, state, created_at, changed_at, samples) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
