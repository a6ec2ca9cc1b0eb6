UPDATE lane SET paused = ?2, ceiling = ?3, gap_ms = ?4, next_start_at = ?5, least_gap_ms = coalesce(?6, least_gap_ms), settled = 1
WHERE id = ?1
