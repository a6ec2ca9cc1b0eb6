INSERT INTO wiki_user (name) VALUES (?1)
