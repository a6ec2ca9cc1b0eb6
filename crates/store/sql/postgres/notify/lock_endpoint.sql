-- unique index on name
SELECT id, grp FROM endpoint WHERE name = $1 FOR UPDATE
