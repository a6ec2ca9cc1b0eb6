UPDATE event_index SET mark = $1, shelf = $2, filled = $3
