-- Counters by kind against the tasks they count.
SELECT 'tally of ' || a.kind || ' in group ' || a.grp || ' state ' || a.state || ': ' || a.n || ' tasks, counted ' || coalesce(c.n, 0)
FROM (SELECT kind, coalesce(grp, 0) AS grp, state, count(*) AS n FROM task GROUP BY 1, 2, 3) a
LEFT JOIN (
    SELECT kind, grp, 0 AS state, sum(open) AS n FROM tally GROUP BY 1, 2
    UNION ALL SELECT kind, grp, 1, sum(paused) FROM tally GROUP BY 1, 2
    UNION ALL SELECT kind, grp, 2, sum(notified) FROM tally GROUP BY 1, 2
    UNION ALL SELECT kind, grp, 3, sum(succeeded) FROM tally GROUP BY 1, 2
    UNION ALL SELECT kind, grp, 4, sum(failed) FROM tally GROUP BY 1, 2
    UNION ALL SELECT kind, grp, 5, sum(discarded) FROM tally GROUP BY 1, 2
) c ON c.kind = a.kind AND c.grp = a.grp AND c.state = a.state
WHERE a.n <> coalesce(c.n, 0)
