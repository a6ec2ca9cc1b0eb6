-- A page of lanes with their counters: the lanes by key, the counters by primary key.
SELECT p.key, p.grp, p.ceiling, p.gap_ms, p.paused, p.ready_at, p.running,
       CAST(coalesce(sum(c.open), 0) AS BIGINT), CAST(coalesce(sum(c.paused), 0) AS BIGINT),
       CAST(coalesce(sum(c.notified), 0) AS BIGINT), CAST(coalesce(sum(c.succeeded), 0) AS BIGINT),
       CAST(coalesce(sum(c.failed), 0) AS BIGINT), CAST(coalesce(sum(c.discarded), 0) AS BIGINT)
FROM (SELECT * FROM lane n WHERE {where} ORDER BY n.key LIMIT {limit}) p
LEFT JOIN lane_tally c ON c.lane = p.id
GROUP BY p.id, p.key, p.grp, p.ceiling, p.gap_ms, p.paused, p.ready_at, p.running
ORDER BY p.key
