DELETE FROM tour_version WHERE tour = $1 AND n IN (SELECT n FROM tour_version WHERE tour = $1 LIMIT $2)
