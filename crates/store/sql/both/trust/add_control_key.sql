INSERT INTO control_key (one, secret) VALUES (1, $1) ON CONFLICT (one) DO NOTHING
