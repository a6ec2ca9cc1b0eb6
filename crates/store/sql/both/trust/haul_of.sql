-- hauls are numbered after their pages, in the same transaction
SELECT device, pages FROM haul WHERE id > $1 ORDER BY id LIMIT 200
