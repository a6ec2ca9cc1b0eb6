-- What the cache is said to hold against what it holds.
SELECT 'the cache has ' || a.entries || ' pages of ' || a.bytes || ' bytes, counted ' || c.entries || ' of ' || c.bytes
FROM (SELECT count(*) AS entries, coalesce(sum(bytes), 0) AS bytes FROM shelf) a
CROSS JOIN (SELECT coalesce(sum(entries), 0) AS entries, coalesce(sum(bytes), 0) AS bytes FROM shelf_size) c
WHERE a.entries <> c.entries OR a.bytes <> c.bytes
