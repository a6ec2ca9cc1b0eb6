INSERT INTO audit (id, at, actor, action, object, grp, detail) VALUES (malla_id($1), $1, $2, $3, $4, $5, $6)
