-- ranges of the primary key of wish
SELECT DISTINCT task FROM wish WHERE task = ANY ($1::bigint[])
