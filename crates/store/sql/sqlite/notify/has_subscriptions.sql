-- subscription_endpoint
SELECT EXISTS (SELECT 1 FROM subscription WHERE endpoint = ?1)
