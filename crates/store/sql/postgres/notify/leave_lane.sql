UPDATE lane SET settled = false WHERE id = $1
