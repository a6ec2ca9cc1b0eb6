-- Lanes of disabled subscriptions in which something waits: subscription_disabled, then the counters by primary key.
SELECT s.lane FROM subscription s
WHERE s.state = 2 AND EXISTS (SELECT 1 FROM lane_tally c WHERE c.lane = s.lane AND (c.open > 0 OR c.paused > 0))
LIMIT ?1
