UPDATE device SET tally = ?2, seen_at = ?3, has_left = 0 WHERE id = ?1
