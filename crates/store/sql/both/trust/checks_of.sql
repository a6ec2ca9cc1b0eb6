-- ranges of trust_check_first and trust_check_second
SELECT body FROM trust_check WHERE (first = $1 OR second = $1) AND id < $2 ORDER BY id DESC LIMIT $3
