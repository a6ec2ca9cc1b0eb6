SELECT id, device, urls FROM refetch ORDER BY id LIMIT 1
