UPDATE body SET pages = pages - 1 WHERE id = ?1
