-- The endpoints that events have, deleted ones too, one seek in event_endpoint each, with their retention in days.
WITH RECURSIVE e (endpoint) AS (
    SELECT min(endpoint) FROM event WHERE endpoint IS NOT NULL
    UNION ALL
    SELECT (SELECT min(endpoint) FROM event WHERE endpoint > e.endpoint) FROM e WHERE e.endpoint IS NOT NULL
)
SELECT e.endpoint, p.keep_days FROM e LEFT JOIN endpoint p ON p.id = e.endpoint WHERE e.endpoint IS NOT NULL
