INSERT INTO answer (job, n, url, page, cached) VALUES (?1, ?2, ?3, ?4, ?5)
