-- of lanes that are forgotten
DELETE FROM site WHERE key = ANY (ARRAY(
    SELECT s.key FROM site s WHERE (SELECT n.id FROM lane n WHERE n.key = s.key) IS NULL LIMIT $1 FOR UPDATE SKIP LOCKED
))
