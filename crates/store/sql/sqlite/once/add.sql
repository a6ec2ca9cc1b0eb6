INSERT OR REPLACE INTO once (scope, key, fingerprint, answer, expires_at) VALUES (?1, ?2, ?3, ?4, ?5)
