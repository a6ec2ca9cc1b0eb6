UPDATE page SET kept_until = greatest(kept_until, $2)
WHERE id = ANY (ARRAY(SELECT id FROM page WHERE id = ANY ($1::bigint[]) ORDER BY id FOR NO KEY UPDATE))
