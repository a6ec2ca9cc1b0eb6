-- For each of these subscriptions: the first of its lane's ready rows of each priority, and its counters; all by primary keys.
SELECT s.id,
       (SELECT coalesce(sum(t.open + t.paused), 0) FROM lane_tally t WHERE t.lane = s.lane) - coalesce(l.running, 0),
       min(coalesce((SELECT min(run_at) FROM ready WHERE lane = s.lane AND prio = 0), 9223372036854775807),
           coalesce((SELECT min(run_at) FROM ready WHERE lane = s.lane AND prio = 1), 9223372036854775807),
           coalesce((SELECT min(run_at) FROM ready WHERE lane = s.lane AND prio = 2), 9223372036854775807))
FROM json_each(?1) n CROSS JOIN subscription s ON s.id = n.value LEFT JOIN lane l ON l.id = s.lane
