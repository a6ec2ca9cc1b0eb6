UPDATE endpoint SET options = ?2, keep_days = ?3, version = version + 1 WHERE id = ?1
