UPDATE lane SET gap_ms = ?2 WHERE id = ?1
