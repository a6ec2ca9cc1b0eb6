UPDATE device SET has_left = true WHERE id = $1
