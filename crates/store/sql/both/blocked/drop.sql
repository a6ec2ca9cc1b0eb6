DELETE FROM blocked_site WHERE pattern = $1
