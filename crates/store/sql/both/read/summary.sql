-- A task as a list shows it; lane and lease by primary key.
SELECT t.id, n.key, t.kind, t.grp, t.state, t.prio, t.failures, t.run_at, t.finished_at, t.parent, l.holder, n.paused
FROM task t JOIN lane n ON n.id = t.lane LEFT JOIN lease l ON l.task = t.id
