-- by primary key
UPDATE shelf SET fresh_until = $1 WHERE page = $2 AND key = (SELECT key FROM page WHERE id = $2)
