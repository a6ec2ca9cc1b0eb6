INSERT INTO event_words (rowid, words) VALUES (?1, ?2)
