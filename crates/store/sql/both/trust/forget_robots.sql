UPDATE site SET robots_until = 0 WHERE key = $1
