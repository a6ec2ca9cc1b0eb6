SELECT packed FROM analysis_waiting
WHERE analysis = $1 AND input = $2 AND part = $3 AND seq = $4 AND (SELECT state < 2 FROM analysis WHERE id = $1)
