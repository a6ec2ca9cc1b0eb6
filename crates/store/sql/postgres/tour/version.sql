SELECT n, at, facts, text, bytes FROM tour_version WHERE tour = $1 AND n = $2
