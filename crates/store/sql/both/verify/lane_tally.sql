SELECT 'lane ' || n.key || ' ' || a.kind || ' state ' || a.state || ': ' || a.n || ' tasks, counted ' || coalesce(c.n, 0)
FROM (SELECT lane, kind, coalesce(grp, 0) AS grp, state, count(*) AS n FROM task GROUP BY 1, 2, 3, 4) a
JOIN lane n ON n.id = a.lane
LEFT JOIN (
    SELECT lane, kind, grp, 0 AS state, open AS n FROM lane_tally
    UNION ALL SELECT lane, kind, grp, 1, paused FROM lane_tally
    UNION ALL SELECT lane, kind, grp, 2, notified FROM lane_tally
    UNION ALL SELECT lane, kind, grp, 3, succeeded FROM lane_tally
    UNION ALL SELECT lane, kind, grp, 4, failed FROM lane_tally
    UNION ALL SELECT lane, kind, grp, 5, discarded FROM lane_tally
) c ON c.lane = a.lane AND c.kind = a.kind AND c.grp = a.grp AND c.state = a.state
WHERE a.n <> coalesce(c.n, 0)
