-- Every answer that a job still waits for is on its way: a task fetches it, or it waits for a device of its place. A tour that goes on
-- keeps its job open with one answer more.
SELECT 'job number ' || j.id || ' waits for ' || (j.total - j.done) || ' answers, but ' || (coalesce(w.n, 0) + coalesce(p.n, 0) + coalesce(t.n, 0)) || ' are on their way'
FROM job j
LEFT JOIN (SELECT job, count(*) AS n FROM wish GROUP BY 1) w ON w.job = j.id
LEFT JOIN (SELECT job, count(*) AS n FROM pin GROUP BY 1) p ON p.job = j.id
LEFT JOIN (SELECT id, 1 AS n FROM tour WHERE state < 2) t ON t.id = j.id
WHERE NOT j.cancelled AND j.total - j.done <> coalesce(w.n, 0) + coalesce(p.n, 0) + coalesce(t.n, 0)
