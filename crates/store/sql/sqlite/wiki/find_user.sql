SELECT id FROM wiki_user WHERE name = ?1
