UPDATE device SET has_left = 1 WHERE id = ?1 RETURNING joined_at
