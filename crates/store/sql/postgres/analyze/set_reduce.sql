UPDATE analysis SET reduce = $2 WHERE id = $1
