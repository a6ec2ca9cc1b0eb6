DELETE FROM tour_url WHERE tour = ?1 AND key IN (SELECT key FROM tour_url WHERE tour = ?1 LIMIT ?2)
