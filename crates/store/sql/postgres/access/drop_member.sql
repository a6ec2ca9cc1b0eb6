DELETE FROM membership WHERE usr = $1 AND grp = $2
