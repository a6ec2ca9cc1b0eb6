-- membership_grp
SELECT u.name FROM membership m JOIN usr u ON u.id = m.usr WHERE m.grp = $1 ORDER BY u.name
