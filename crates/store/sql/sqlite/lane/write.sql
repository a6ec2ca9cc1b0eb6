UPDATE lane SET running = ?2, next_start_at = ?3, ready_at = ?4, used_at = ?5 WHERE id = ?1
