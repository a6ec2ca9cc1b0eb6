INSERT INTO analysis_partial (analysis, part, input, seq, partial) VALUES (?1, ?2, ?3, ?4, ?5)
