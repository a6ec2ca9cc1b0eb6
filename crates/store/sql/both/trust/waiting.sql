-- the entries of trust_check_open; those for anybody get a while to be found by themselves, and the lost are given up
SELECT COUNT(*) FROM trust_check
WHERE ended_at IS NULL AND at > $1 AND (state = 'trial' OR kind = 'report' OR at < $2 OR (held = 1 AND at < $3))
