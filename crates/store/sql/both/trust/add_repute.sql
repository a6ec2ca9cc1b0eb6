INSERT INTO repute (subject, state) VALUES ($1, $2) ON CONFLICT (subject) DO NOTHING
