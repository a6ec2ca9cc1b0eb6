INSERT INTO haul (id, device, owner, at, pages) VALUES ($1, $2, $3, $4, $5)
