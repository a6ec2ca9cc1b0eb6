SELECT state, robots_status, robots, robots_at, robots_until FROM site WHERE key = $1
