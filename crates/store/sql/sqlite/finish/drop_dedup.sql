DELETE FROM dedup WHERE room = ?1 AND key = ?2 AND task = ?3
