-- unique index on name
SELECT id, name, created_at FROM grp WHERE name = $1
