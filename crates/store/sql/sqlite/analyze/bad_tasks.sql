-- Whether tasks of the lane failed or were discarded: its counters, a few rows.
SELECT EXISTS (
    SELECT 1 FROM lane n JOIN lane_tally c ON c.lane = n.id WHERE n.key = ?1 AND (c.failed > 0 OR c.discarded > 0)
)
