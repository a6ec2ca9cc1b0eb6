INSERT INTO commit_token (token, refused) VALUES ($1, true) ON CONFLICT (token) DO NOTHING
