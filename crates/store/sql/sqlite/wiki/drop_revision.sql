DELETE FROM wiki_revision WHERE page = ?1 AND at = ?2 AND revid = ?3
