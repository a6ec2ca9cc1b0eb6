UPDATE tour SET forgotten = true WHERE id = $1
