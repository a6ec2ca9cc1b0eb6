SELECT version, grp FROM endpoint WHERE id = ?1
