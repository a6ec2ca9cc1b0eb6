SELECT pattern, why, contact, actor, at FROM blocked_site ORDER BY pattern
