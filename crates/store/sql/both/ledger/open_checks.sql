SELECT COUNT(*) FROM trust_check WHERE ended_at IS NULL AND (first = $1 OR second = $1)
