UPDATE lane SET gap_ms = ?2, next_start_at = ?3 WHERE id = ?1
