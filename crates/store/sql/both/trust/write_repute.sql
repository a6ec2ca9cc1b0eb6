INSERT INTO repute (subject, state) VALUES ($1, $2) ON CONFLICT (subject) DO UPDATE SET state = excluded.state
