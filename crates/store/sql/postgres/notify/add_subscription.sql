INSERT INTO subscription (name, endpoint, grp, state, spec, retry, lane, created_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
ON CONFLICT (name) DO NOTHING
