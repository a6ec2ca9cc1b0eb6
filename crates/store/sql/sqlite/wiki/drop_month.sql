DELETE FROM wiki_month WHERE wiki = ?1 AND month = ?2
