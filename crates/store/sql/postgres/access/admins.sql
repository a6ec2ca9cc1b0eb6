-- Admins who can log in.
SELECT count(*) FROM usr WHERE role = 'admin' AND NOT disabled AND password_hash IS NOT NULL
