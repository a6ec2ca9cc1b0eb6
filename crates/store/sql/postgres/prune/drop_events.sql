-- Asked again: one may have been resent meanwhile.
WITH gone AS (
    DELETE FROM event WHERE id = ANY ($1::bigint[]) AND NOT EXISTS (SELECT 1 FROM task WHERE parent = event.id AND state < 3) RETURNING id
), words AS (
    DELETE FROM event_words WHERE event = ANY ($1::bigint[]) AND event IN (SELECT id FROM gone)
)
SELECT count(*) FROM gone
