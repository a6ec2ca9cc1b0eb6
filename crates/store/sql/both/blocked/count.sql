SELECT COUNT(*) FROM blocked_site
