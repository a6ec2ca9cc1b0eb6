UPDATE device SET blocked = $2 WHERE id = $1
