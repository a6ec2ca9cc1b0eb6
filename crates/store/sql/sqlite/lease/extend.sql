UPDATE lease SET expires_at = ?3 WHERE task = ?1 AND nonce = ?2
