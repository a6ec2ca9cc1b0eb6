UPDATE lane SET settled = 0 WHERE id = ?1
