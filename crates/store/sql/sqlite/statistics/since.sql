-- For each of these subscriptions, by primary key.
SELECT f.subject, f.body FROM json_each(?1) n CROSS JOIN figure f
WHERE f.step = 0 AND f.subject_kind = 1 AND f.subject = n.value AND f.begin_at >= ?2
