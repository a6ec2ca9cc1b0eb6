UPDATE job SET quiet = true WHERE id = $1
