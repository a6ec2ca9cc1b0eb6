-- An event whole; one without an endpoint is Malla's own and waits for its notifications.
SELECT e.id, coalesce(e.endpoint, 1), coalesce(p.name, '(deleted)'), e.grp, e.kind, e.method, e.query, e.content_type, e.topic,
       e.headers, e.packed, e.body
FROM event e LEFT JOIN endpoint p ON p.id = coalesce(e.endpoint, 1)
