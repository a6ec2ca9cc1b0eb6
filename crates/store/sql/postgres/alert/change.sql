UPDATE alert SET spec = $2, firing = CASE WHEN $3 THEN firing ELSE '[]' END WHERE id = $1
