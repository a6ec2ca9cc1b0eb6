SELECT t.id, l.nonce, n.key, l.kind, l.grp, l.prio, t.failures, t.retry, t.payload, l.started_at, l.expires_at, l.holder
FROM lease l JOIN task t ON t.id = l.task JOIN lane n ON n.id = l.lane
WHERE l.task = ?1 AND l.nonce = ?2
