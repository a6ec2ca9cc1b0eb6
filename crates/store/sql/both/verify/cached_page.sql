-- What the cache gives out is there, with its body.
SELECT 'page number ' || s.page || ' is in the cache but not there'
FROM shelf s LEFT JOIN page p ON p.id = s.page LEFT JOIN body b ON b.id = p.body
WHERE p.id IS NULL OR (p.body IS NOT NULL AND b.id IS NULL)
