INSERT INTO refetch (id, device, urls) VALUES ($1, $2, $3)
