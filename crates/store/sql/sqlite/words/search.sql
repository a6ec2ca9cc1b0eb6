-- FTS5 walks the lists of the words from their ends
SELECT rowid FROM event_words WHERE event_words MATCH ?1 AND rowid >= ?2 AND rowid < ?3 ORDER BY rowid DESC LIMIT ?4
