-- Nobody erases these names before our end.
SELECT id, name FROM wiki_user
WHERE id = ANY (ARRAY(SELECT (SELECT u.id FROM wiki_user u WHERE u.name = n.name) FROM unnest($1::text[]) AS n (name)))
ORDER BY id FOR KEY SHARE
