-- subscription_endpoint
SELECT s.lane FROM subscription s JOIN endpoint p ON p.id = s.endpoint WHERE p.name = $1
