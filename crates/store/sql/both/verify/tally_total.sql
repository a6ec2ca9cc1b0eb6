-- The other direction: nothing is counted that is not there.
SELECT 'tally: ' || c.n || ' tasks counted, ' || a.n || ' there'
FROM (SELECT coalesce(sum(open + paused + notified + succeeded + failed + discarded), 0) AS n FROM tally) c,
     (SELECT count(*) AS n FROM task) a
WHERE c.n <> a.n
