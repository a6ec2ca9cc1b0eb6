-- Unless it has changed meanwhile.
UPDATE wiki_block SET object = ?4, packed = x'' WHERE page = ?1 AND number = ?2 AND object IS NULL AND packed = ?3
