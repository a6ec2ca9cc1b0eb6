DELETE FROM awaiting WHERE due_at = ?1 AND task = ?2
