INSERT INTO endpoint (name, grp, options, keep_days, created_at) VALUES ($1, $2, $3, $4, $5) ON CONFLICT (name) DO NOTHING
