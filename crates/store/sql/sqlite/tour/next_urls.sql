-- the first entries of tour_url_waiting for the site
SELECT key, url, sitemap FROM tour_url WHERE tour = ?1 AND site = ?2 AND waiting = 1 ORDER BY depth, n LIMIT ?3
