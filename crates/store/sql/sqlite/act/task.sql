SELECT t.id, t.lane, t.kind, t.grp, t.state, t.prio, t.failures, t.lapses, t.run_at, t.dedup, t.result, n.key,
       n.paused, (SELECT nonce FROM lease WHERE task = t.id)
FROM task t JOIN lane n ON n.id = t.lane
WHERE t.id = ?1
