DELETE FROM shelf WHERE key = ANY (ARRAY(SELECT key FROM shelf WHERE key = ANY ($1::bytea[]) ORDER BY key FOR UPDATE)) RETURNING bytes
