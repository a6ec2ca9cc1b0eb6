DELETE FROM tour_site WHERE tour = $1 AND site IN (SELECT site FROM tour_site WHERE tour = $1 LIMIT $2)
