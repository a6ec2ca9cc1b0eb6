-- by primary key
SELECT id, headers FROM page WHERE id = ANY ($1::bigint[]) ORDER BY id FOR NO KEY UPDATE
