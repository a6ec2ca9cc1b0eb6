-- the first entries of tour_finished
SELECT id FROM tour WHERE finished_at IS NOT NULL AND (finished_at < $1 OR forgotten) ORDER BY finished_at LIMIT $2 FOR UPDATE SKIP LOCKED
