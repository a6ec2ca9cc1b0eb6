-- Whoever led was the process before, which is gone.
UPDATE cluster_leader SET until = min(until, ?1) WHERE id = 1
