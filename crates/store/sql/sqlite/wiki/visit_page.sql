UPDATE wiki_page SET visited_at = ?3 WHERE wiki = ?1 AND pageid = ?2
