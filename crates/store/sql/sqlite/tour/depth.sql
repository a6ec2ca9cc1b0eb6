SELECT depth, sitemap FROM tour_url WHERE tour = ?1 AND key = ?2
