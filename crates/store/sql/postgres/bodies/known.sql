-- unique index on hash
SELECT hash FROM body WHERE hash = ANY ($1::bytea[])
