SELECT body FROM trust_check WHERE id = $1
