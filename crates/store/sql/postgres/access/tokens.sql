SELECT t.id, t.name, t.role, g.name, t.created_by, t.created_at, t.expires_at, t.last_used_at, t.grp
FROM token t LEFT JOIN grp g ON g.id = t.grp WHERE t.name > $1 ORDER BY t.name LIMIT $2
