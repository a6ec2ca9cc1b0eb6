-- primary key of membership
SELECT g.id, g.name FROM membership m JOIN grp g ON g.id = m.grp WHERE m.usr = $1 ORDER BY g.name
