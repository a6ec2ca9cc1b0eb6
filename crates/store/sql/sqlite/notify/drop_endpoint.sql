DELETE FROM endpoint WHERE id = ?1
