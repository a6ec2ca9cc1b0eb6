-- the first entries of shelf_used
SELECT key, bytes FROM shelf ORDER BY used_at, key LIMIT ?1
