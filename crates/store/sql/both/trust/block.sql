UPDATE device SET blocked = TRUE WHERE id = $1
