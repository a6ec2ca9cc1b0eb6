INSERT INTO analysis_dimension (analysis, part, input, seq, packed) VALUES (?1, ?2, ?3, ?4, ?5)
