-- in one order, so that two who add the same names wait for each other
INSERT INTO wiki_user (name)
SELECT n.name FROM unnest($1::text[]) AS n (name)
WHERE (SELECT u.id FROM wiki_user u WHERE u.name = n.name) IS NULL
ORDER BY n.name COLLATE "C"
ON CONFLICT (name) DO NOTHING
