DELETE FROM event_words WHERE rowid = ?1
