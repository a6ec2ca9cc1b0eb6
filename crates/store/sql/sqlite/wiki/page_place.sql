SELECT id, version FROM wiki_page WHERE wiki = ?1 AND pageid = ?2
