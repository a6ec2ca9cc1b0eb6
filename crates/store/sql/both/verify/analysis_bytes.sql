-- What is not mapped yet has its bytes, and nothing else has.
SELECT 'analysis number ' || a.id || ' says that ' || (a.taken - a.mapped) || ' batches with ' || a.waiting_bytes
       || ' bytes wait, but ' || coalesce(w.n, 0) || ' with ' || coalesce(w.bytes, 0) || ' do'
FROM analysis a
LEFT JOIN (SELECT analysis, count(*) AS n, sum(bytes) AS bytes FROM analysis_waiting GROUP BY 1) w ON w.analysis = a.id
WHERE a.state < 2 AND (a.taken - a.mapped <> coalesce(w.n, 0) OR a.waiting_bytes <> coalesce(w.bytes, 0))
