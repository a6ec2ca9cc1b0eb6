-- Every subscription has its lane.
SELECT 'subscription ' || s.name || ' has no lane of its own'
FROM subscription s LEFT JOIN lane n ON n.id = s.lane
WHERE n.id IS NULL OR n.key <> 'notify/' || s.name
