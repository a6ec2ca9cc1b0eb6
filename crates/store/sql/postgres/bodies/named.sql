-- each by its index
SELECT object FROM body WHERE object = ANY ($1::text[])
UNION ALL SELECT object FROM wiki_block WHERE object = ANY ($1::text[])
UNION ALL SELECT name FROM dead_object WHERE name = ANY ($1::text[])
