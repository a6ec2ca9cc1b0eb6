DELETE FROM tour_version WHERE tour = $1 AND n <= $2
