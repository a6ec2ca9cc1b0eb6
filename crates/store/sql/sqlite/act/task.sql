SELECT t.id, t.lane, t.kind, t.grp, t.state, t.prio, t.failures, t.lapses, t.run_at, t.dedup, t.result, n.key,
       n.paused, n.gap_ms, l.expires_at
FROM task t JOIN lane n ON n.id = t.lane LEFT JOIN lease l ON l.task = t.id
WHERE t.id = ?1
