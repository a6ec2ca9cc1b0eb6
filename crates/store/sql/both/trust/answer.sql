SELECT a.page, p.url, p.status FROM answer a JOIN page p ON p.id = a.page WHERE a.job = $1 AND a.n = $2
