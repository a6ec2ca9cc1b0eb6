-- Lanes with a retention of their own, in days.
SELECT s.lane, p.keep_days FROM subscription s JOIN endpoint p ON p.id = s.endpoint WHERE p.keep_days IS NOT NULL
