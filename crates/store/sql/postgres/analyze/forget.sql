UPDATE analysis SET forgotten = true, leftover = true WHERE id = $1
