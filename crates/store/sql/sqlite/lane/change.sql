UPDATE lane SET paused = ?2, ceiling = ?3, gap_ms = ?4, next_start_at = ?5, settled = 1 WHERE id = ?1
