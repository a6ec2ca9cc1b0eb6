SELECT id, packed, substring(body FROM 1 FOR $2) FROM event WHERE id = ANY ($1::bigint[]) ORDER BY id DESC
