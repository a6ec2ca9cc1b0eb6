-- Holds the key for this transaction; a repeat at the same time waits here and then finds the answer.
INSERT INTO once (scope, key, fingerprint, answer, expires_at) VALUES ($1, $2, $3, NULL, $4)
ON CONFLICT (scope, key) DO UPDATE SET fingerprint = $3, answer = NULL, expires_at = $4 WHERE once.expires_at <= $5
