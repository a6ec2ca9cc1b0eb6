-- the nulls of dead_object_since
UPDATE dead_object SET since = $1
WHERE name = ANY (ARRAY(SELECT name FROM dead_object WHERE since IS NULL LIMIT $2 FOR UPDATE SKIP LOCKED))
