INSERT INTO site (key, state) SELECT * FROM unnest($1::text[], $2::text[]) AS n (key, state) ORDER BY key
ON CONFLICT (key) DO UPDATE SET state = excluded.state
