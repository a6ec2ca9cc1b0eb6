INSERT INTO analysis_batch (analysis, input, part, seq, hash, size, mapped) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
