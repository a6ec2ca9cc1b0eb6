-- Lanes without a task, unused for long and never touched by an operator: a scan, once an hour, of as many as there are.
SELECT n.id FROM lane n
WHERE n.used_at < ?1 AND n.settled = 0 AND n.running = 0 AND n.next_start_at < ?1
  AND NOT EXISTS (SELECT 1 FROM task WHERE lane = n.id)
LIMIT ?2
