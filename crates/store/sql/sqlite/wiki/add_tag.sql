INSERT INTO wiki_tag (tag, wiki, revid) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING
