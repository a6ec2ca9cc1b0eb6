UPDATE analysis_batch SET mapped = 1 WHERE analysis = ?1 AND input = ?2 AND part = ?3 AND seq = ?4
