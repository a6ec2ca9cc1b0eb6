SELECT input, seq, packed FROM analysis_dimension WHERE analysis = $1 AND part = $2 ORDER BY input, seq
