SELECT status FROM page WHERE id = $1
