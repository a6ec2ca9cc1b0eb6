-- As many rows as tasks run.
SELECT l.kind, coalesce(l.grp, 0), n.paused, count(*) FROM lease l JOIN lane n ON n.id = l.lane GROUP BY 1, 2, 3
