INSERT OR IGNORE INTO membership (usr, grp) VALUES (?1, ?2)
