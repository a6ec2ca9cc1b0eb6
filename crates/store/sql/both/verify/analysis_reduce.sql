-- An analysis has a task that makes its answers when it is whole, and not before.
SELECT 'analysis number ' || a.id || CASE WHEN a.reduce IS NULL THEN ' is whole, but has no task' ELSE ' is not over, but has a task that is gone or too early' END
       || ' for its answers'
FROM analysis a LEFT JOIN task t ON t.id = a.reduce
WHERE a.state < 2
  AND CASE WHEN a.state = 1 AND a.expected = a.mapped THEN t.id IS NULL OR t.state = 3 ELSE a.reduce IS NOT NULL END
