UPDATE body SET object = NULL, packed = ?2 WHERE id = ?1 AND object = ?3
