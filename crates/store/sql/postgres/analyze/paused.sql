-- By the lane's key.
SELECT 1 FROM lane WHERE key = $1 AND paused
