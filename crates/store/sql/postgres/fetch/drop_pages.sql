DELETE FROM page WHERE id = ANY ($1::bigint[])
