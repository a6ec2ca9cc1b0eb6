-- Admins who can log in.
SELECT count(*) FROM usr WHERE role = 'admin' AND disabled = 0 AND password_hash IS NOT NULL
