-- An event as a list shows it.
SELECT e.id, coalesce(p.name, '(deleted)'), e.kind, e.method, e.content_type, e.topic, e.bytes
FROM event e LEFT JOIN endpoint p ON p.id = coalesce(e.endpoint, 1)
