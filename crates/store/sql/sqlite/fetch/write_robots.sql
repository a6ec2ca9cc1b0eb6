UPDATE site SET robots_status = ?2, robots = ?3, robots_at = ?4, robots_until = ?5 WHERE key = ?1
