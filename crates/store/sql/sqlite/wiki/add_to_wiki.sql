UPDATE wiki SET pages = pages + ?2, revisions = revisions + ?3, editors = editors + ?4 WHERE id = ?1
