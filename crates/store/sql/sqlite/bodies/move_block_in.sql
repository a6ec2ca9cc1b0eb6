UPDATE wiki_block SET object = NULL, packed = ?3 WHERE page = ?1 AND number = ?2 AND object = ?4
