-- The weekly partitions that there are, by name.
SELECT c.relname::text FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
WHERE i.inhparent IN ('task'::regclass, 'event'::regclass)
