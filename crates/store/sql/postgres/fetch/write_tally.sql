UPDATE device SET tally = $2, seen_at = $3, has_left = false WHERE id = $1
