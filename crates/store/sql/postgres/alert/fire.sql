-- Only as it was seen: another node may have been faster.
UPDATE alert SET firing = $4, last_fired_at = $5 WHERE id = $1 AND firing = $2 AND last_fired_at IS NOT DISTINCT FROM $3
