INSERT INTO wiki_page (wiki, pageid, title, ns, deleted, first_extraction, last_extraction) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6)
