INSERT INTO cluster_restart (at, machine, role, why, note, delay_ms) VALUES ($1, $2, $3, $4, $5, $6) RETURNING id
