-- A task that may run at ?2 entered the lane: bring its place in the line forward if that is earlier.
UPDATE lane SET ready_at = max(?2, next_start_at)
WHERE id = ?1 AND paused = 0 AND running < ceiling AND (ready_at IS NULL OR ready_at > max(?2, next_start_at))
RETURNING ready_at
