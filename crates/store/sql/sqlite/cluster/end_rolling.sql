UPDATE cluster_rolling SET ended_at = ?2, note = ?3 WHERE id = ?1 AND ended_at IS NULL
