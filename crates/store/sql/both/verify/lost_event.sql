-- What is still to be delivered is there.
SELECT 'task number ' || t.id || ' is to deliver an event that is not there'
FROM task t LEFT JOIN event e ON e.id = t.parent
WHERE t.kind = 'notify.deliver' AND t.state IN (0, 1, 2) AND e.id IS NULL
