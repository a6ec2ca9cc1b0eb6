-- unique index on key
SELECT id FROM lane WHERE key = ?1
