SELECT bytes FROM analysis_waiting WHERE analysis = ?1 AND input = ?2 AND part = ?3 AND seq = ?4
