-- a haul has the number of its newest page
SELECT device, pages FROM haul WHERE id >= $1 ORDER BY id LIMIT 200
