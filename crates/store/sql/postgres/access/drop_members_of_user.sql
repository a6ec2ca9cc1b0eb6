DELETE FROM membership WHERE usr = $1
