SELECT body FROM analysis_answer
WHERE analysis = $1 AND name = $2 AND (SELECT state = 2 AND NOT forgotten FROM analysis WHERE id = $1)
