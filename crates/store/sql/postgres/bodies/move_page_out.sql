-- Unless it has changed meanwhile.
UPDATE body SET object = $3, packed = '' WHERE id = $1 AND object IS NULL AND packed = $2
