UPDATE wiki SET pages = pages + ?2, revisions = revisions + ?3 WHERE id = ?1
