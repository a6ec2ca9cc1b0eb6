-- unique index on hash
SELECT 1 FROM body WHERE hash = ?1
