-- They end now: what their holder brings afterwards is refused.
UPDATE lease SET expires_at = least(expires_at, $2) WHERE holder = $1 RETURNING task, nonce
