DELETE FROM token WHERE id = $1
