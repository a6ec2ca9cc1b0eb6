-- unique index on name
SELECT s.name, p.name FROM subscription s JOIN endpoint p ON p.id = s.endpoint WHERE s.name = ANY ($1::text[])
