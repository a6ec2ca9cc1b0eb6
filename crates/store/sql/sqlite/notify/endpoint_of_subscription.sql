-- unique index on name
SELECT p.name FROM subscription s JOIN endpoint p ON p.id = s.endpoint WHERE s.name = ?1
