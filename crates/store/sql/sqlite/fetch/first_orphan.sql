-- Asked again: it may have been taken up again. The URL of the first who waits.
SELECT url FROM wish WHERE task = ?1 AND coalesce((SELECT state FROM task WHERE id = ?1), 5) > 2 ORDER BY job, seq LIMIT 1
