-- Every answer that a job still waits for is on its way.
SELECT 'job number ' || j.id || ' waits for ' || (j.total - j.done) || ' answers, but ' || coalesce(w.n, 0) || ' are on their way'
FROM job j LEFT JOIN (SELECT job, count(*) AS n FROM wish GROUP BY 1) w ON w.job = j.id
WHERE NOT j.cancelled AND j.total - j.done <> coalesce(w.n, 0)
