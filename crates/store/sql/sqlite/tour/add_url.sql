INSERT INTO tour_url (tour, key, site, url, depth, sitemap, n, waiting) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 1)
