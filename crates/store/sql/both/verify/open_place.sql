-- An open task waits or runs, one of the two.
SELECT 'task number ' || t.id || ' is open with ' || count(r.task) || ' places in line and ' || count(l.task) || ' leases'
FROM task t
LEFT JOIN ready r ON r.task = t.id AND r.lane = t.lane AND r.prio = t.prio AND r.run_at = t.run_at
LEFT JOIN lease l ON l.task = t.id
WHERE t.state = 0
GROUP BY t.id
HAVING count(r.task) + count(l.task) <> 1
