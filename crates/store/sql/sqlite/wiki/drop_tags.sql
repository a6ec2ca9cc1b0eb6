DELETE FROM wiki_tag WHERE wiki = ?1 AND revid = ?2
