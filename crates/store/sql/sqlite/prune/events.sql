-- Events of an endpoint by age: the front of event_endpoint, looked through as far as ?3; what is still to be delivered stays.
SELECT e.id FROM (SELECT id FROM event WHERE endpoint = ?1 AND id < ?2 ORDER BY id LIMIT ?3) e
WHERE NOT EXISTS (SELECT 1 FROM task WHERE parent = e.id AND state < 3) LIMIT ?4
