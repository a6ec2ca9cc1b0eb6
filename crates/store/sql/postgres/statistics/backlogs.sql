-- For each of these subscriptions: the first of its lane's ready rows of each priority, and its counters; all by primary keys.
SELECT s.id,
       (SELECT coalesce(sum(t.open + t.paused), 0)::bigint FROM lane_tally t WHERE t.lane = s.lane) - coalesce(l.running, 0),
       least((SELECT min(run_at) FROM ready WHERE lane = s.lane AND prio = 0),
             (SELECT min(run_at) FROM ready WHERE lane = s.lane AND prio = 1),
             (SELECT min(run_at) FROM ready WHERE lane = s.lane AND prio = 2))
FROM unnest($1::bigint[]) AS n (id)
JOIN subscription s ON s.id = n.id
LEFT JOIN lane l ON l.id = s.lane
