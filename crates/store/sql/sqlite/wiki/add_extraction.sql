INSERT INTO wiki_extraction (id, grp, asked, key, state, asked_at, changed_at, task) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6, ?7)
