-- the first entries of tour_site_turn
SELECT site, under_way FROM tour_site WHERE tour = ?1 AND waiting > 0 AND under_way < ?2 ORDER BY turn LIMIT ?3
