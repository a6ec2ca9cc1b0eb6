-- unique index on hash
UPDATE body SET pages = pages + 1 WHERE hash = ?1 RETURNING id
