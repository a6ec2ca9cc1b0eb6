INSERT INTO audit (id, at, actor, action, object, grp, detail) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
