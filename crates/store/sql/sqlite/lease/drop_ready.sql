DELETE FROM ready WHERE lane = ?1 AND prio = ?2 AND run_at = ?3 AND task = ?4
