SELECT 'lane tallies: ' || c.n || ' tasks counted, ' || a.n || ' there'
FROM (SELECT coalesce(sum(open + paused + notified + succeeded + failed + discarded), 0) AS n FROM lane_tally) c,
     (SELECT count(*) AS n FROM task) a
WHERE c.n <> a.n
