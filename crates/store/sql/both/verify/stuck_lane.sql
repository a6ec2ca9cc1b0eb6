-- A lane that could start something has a place in the line, no later than it must.
SELECT 'lane ' || n.key || ' could start a task but does not stand in line'
FROM lane n JOIN (SELECT lane, min(run_at) AS run_at FROM ready GROUP BY lane) r ON r.lane = n.id
WHERE NOT n.paused AND n.running < n.ceiling
  AND (n.ready_at IS NULL OR (n.ready_at > r.run_at AND n.ready_at > n.next_start_at AND n.ready_at > {now}))
