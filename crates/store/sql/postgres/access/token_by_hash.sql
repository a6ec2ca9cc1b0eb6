-- unique index on hash
SELECT id, name, role, grp, expires_at, last_used_at, hash FROM token WHERE hash = $1
