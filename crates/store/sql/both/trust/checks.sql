-- newest first
SELECT body FROM trust_check WHERE id < $1 ORDER BY id DESC LIMIT $2
