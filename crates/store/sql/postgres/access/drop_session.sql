DELETE FROM session WHERE hash = $1
