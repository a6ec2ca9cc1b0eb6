-- a range of dead_object_since
SELECT name FROM dead_object WHERE since <= $1 ORDER BY since LIMIT $2
