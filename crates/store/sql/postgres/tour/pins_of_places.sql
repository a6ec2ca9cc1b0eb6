-- ranges of pin_place
SELECT job, seq, label, url, deadline, place FROM pin WHERE place = ANY ($1::text[]) ORDER BY job, seq LIMIT $2 FOR UPDATE SKIP LOCKED
