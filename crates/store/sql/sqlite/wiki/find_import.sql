SELECT id FROM wiki_import WHERE wiki = ?1 AND name = ?2
