SELECT name, owner, grp, about FROM device WHERE id = $1
