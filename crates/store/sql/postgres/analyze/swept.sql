UPDATE analysis SET leftover = false WHERE id = $1
