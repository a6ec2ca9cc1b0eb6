-- The lease table is as small as what runs: read whole. ?2 (a holder's prefix) takes unexpired ones too.
SELECT l.task, l.lane, l.prio, l.kind, l.grp, l.dedup, l.started_at, l.holder, t.failures, t.lapses, t.retry, n.key, n.gap_ms
FROM lease l JOIN task t ON t.id = l.task JOIN lane n ON n.id = l.lane
WHERE l.expires_at <= ?1 OR l.holder LIKE ?2 || '%'
LIMIT ?3
