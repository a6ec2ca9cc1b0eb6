-- newest first, as many as are kept and a few
SELECT n, bytes FROM tour_version WHERE tour = ?1 ORDER BY n DESC
