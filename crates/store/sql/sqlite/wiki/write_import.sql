UPDATE wiki_import SET batches = ?2, pages = pages + ?3, revisions = revisions + ?4, finished = ?5, changed_at = ?6 WHERE id = ?1
