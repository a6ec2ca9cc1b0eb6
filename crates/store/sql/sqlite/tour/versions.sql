-- a range of the primary key
SELECT n, at, facts FROM tour_version WHERE tour = ?1 AND n < ?2 ORDER BY n DESC LIMIT ?3
