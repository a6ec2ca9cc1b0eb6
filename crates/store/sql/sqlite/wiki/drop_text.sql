DELETE FROM wiki_text WHERE page = ?1 AND hash = ?2
