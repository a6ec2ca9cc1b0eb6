SELECT t.id, l.nonce, n.key, l.kind, l.grp, l.prio, t.failures, t.retry, t.payload, l.started_at, l.expires_at, l.holder, n.gap_ms
FROM unnest($1::bigint[], $2::bigint[]) WITH ORDINALITY AS h (task, nonce, ord)
CROSS JOIN LATERAL (SELECT * FROM lease WHERE lease.task = h.task AND lease.nonce = h.nonce OFFSET 0) l
CROSS JOIN LATERAL (SELECT * FROM task WHERE task.id = h.task OFFSET 0) t
CROSS JOIN LATERAL (SELECT key, gap_ms FROM lane WHERE lane.id = l.lane OFFSET 0) n
ORDER BY h.ord
