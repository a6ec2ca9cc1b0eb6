-- Which of these lanes have tasks that failed or were discarded: their counters, a few rows each.
SELECT k.key FROM unnest($1::text[]) AS k (key)
WHERE (
    SELECT bool_or(c.failed > 0 OR c.discarded > 0) FROM lane_tally c WHERE c.lane = (SELECT n.id FROM lane n WHERE n.key = k.key)
)
