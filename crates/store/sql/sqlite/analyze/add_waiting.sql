INSERT INTO analysis_waiting (analysis, input, part, seq, task, bytes, packed) VALUES (?1, ?2, ?3, ?4, ?5, length(?6), ?6)
