-- by primary key; the bytes are not read
SELECT page, number, object, octet_length(packed)::bigint FROM wiki_block WHERE (page, number) > ($1, $2) ORDER BY page, number LIMIT $3
