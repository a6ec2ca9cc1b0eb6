SELECT EXISTS (SELECT 1 FROM tour_url WHERE tour = ?1 AND key = ?2)
