-- of lanes that are forgotten
DELETE FROM site WHERE rowid IN (
    SELECT s.rowid FROM site s WHERE NOT EXISTS (SELECT 1 FROM lane l WHERE l.key = s.key) LIMIT ?1
)
