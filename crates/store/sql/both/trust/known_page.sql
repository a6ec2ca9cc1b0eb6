-- page_verified
SELECT id, url, status FROM page WHERE verified = TRUE AND id >= $1 ORDER BY id LIMIT 1
