SELECT paused, running, ceiling, next_start_at, ready_at FROM lane WHERE id = ?1
