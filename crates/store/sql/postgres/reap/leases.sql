-- The lease table is as small as what runs: read whole.
SELECT l.task, l.nonce, l.started_at, l.holder, l.kind, l.grp, t.failures, t.lapses, t.retry, n.key, n.gap_ms
FROM lease l JOIN task t ON t.id = l.task JOIN lane n ON n.id = l.lane
WHERE l.expires_at <= $1
LIMIT $2
