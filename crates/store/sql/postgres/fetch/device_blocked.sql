SELECT blocked FROM device WHERE id = $1 FOR KEY SHARE
