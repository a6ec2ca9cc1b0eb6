INSERT INTO alert (name, grp, spec, created_at) VALUES (?1, ?2, ?3, ?4) ON CONFLICT (name) DO NOTHING
