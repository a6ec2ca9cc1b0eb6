INSERT INTO blocked_site (pattern, why, contact, actor, at) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (pattern) DO UPDATE SET why = excluded.why, contact = excluded.contact, actor = excluded.actor, at = excluded.at
