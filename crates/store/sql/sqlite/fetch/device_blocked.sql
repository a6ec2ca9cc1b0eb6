SELECT blocked FROM device WHERE id = ?1
