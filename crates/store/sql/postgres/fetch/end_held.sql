-- They end now: what their holder brings afterwards is refused.
UPDATE lease SET expires_at = least(expires_at, $2) WHERE holder = $1 AND started_at >= $3 RETURNING task, nonce
