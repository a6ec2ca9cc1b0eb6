INSERT INTO analysis_answer (analysis, name, body) VALUES (?1, ?2, ?3)
