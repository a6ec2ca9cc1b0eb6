DELETE FROM dead_object WHERE name = ANY ($1::text[])
