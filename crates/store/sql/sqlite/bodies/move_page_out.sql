-- Unless it has changed meanwhile.
UPDATE body SET object = ?3, packed = x'' WHERE id = ?1 AND object IS NULL AND packed = ?2
