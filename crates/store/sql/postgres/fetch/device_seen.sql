UPDATE device SET seen_at = $2, has_left = false, measures = $3 WHERE id = $1 RETURNING blocked
