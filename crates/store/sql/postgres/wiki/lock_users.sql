-- Nobody uses these names before our end: some of $2 may be erased.
SELECT id, name FROM wiki_user
WHERE id = ANY ($2::bigint[] || ARRAY(SELECT (SELECT u.id FROM wiki_user u WHERE u.name = n.name) FROM unnest($1::text[]) AS n (name)))
ORDER BY id FOR UPDATE
