SELECT id, name, created_at FROM grp WHERE name > $1 ORDER BY name LIMIT $2
