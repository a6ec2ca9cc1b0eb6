-- unique index on key
SELECT EXISTS (SELECT 1 FROM lane WHERE key = $1 AND (running > 0 OR next_start_at > $2))
