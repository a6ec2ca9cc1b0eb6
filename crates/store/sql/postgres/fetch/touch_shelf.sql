UPDATE shelf SET used_at = $2
WHERE key = ANY (ARRAY(SELECT key FROM shelf WHERE key = ANY ($1::bytea[]) ORDER BY key FOR NO KEY UPDATE))
