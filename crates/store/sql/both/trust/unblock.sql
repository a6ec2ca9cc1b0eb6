UPDATE device SET blocked = FALSE WHERE id = $1
