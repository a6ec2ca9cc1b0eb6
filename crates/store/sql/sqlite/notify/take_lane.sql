UPDATE lane SET grp = ?2 WHERE id = ?1
