-- Asked again behind the locks: one may have been taken up again. With the URL of the first who waits.
SELECT o.task, w.url
FROM unnest($1::bigint[]) AS o (task)
CROSS JOIN LATERAL (SELECT url FROM wish WHERE wish.task = o.task ORDER BY job, seq LIMIT 1) w
WHERE coalesce((SELECT t.state FROM task t WHERE t.id = o.task), 5) > 2
