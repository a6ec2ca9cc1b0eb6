DELETE FROM session WHERE usr = $1
