-- Held, so that nobody forgets them meanwhile.
SELECT hash, id FROM body WHERE hash = ANY ($1::bytea[]) ORDER BY hash FOR KEY SHARE
