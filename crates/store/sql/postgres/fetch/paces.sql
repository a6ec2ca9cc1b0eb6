-- unique indexes on the keys
SELECT k.key, s.state, n.id, n.gap_ms, n.least_gap_ms, n.next_start_at
FROM unnest($1::text[]) AS k (key)
LEFT JOIN LATERAL (SELECT state FROM site WHERE site.key = k.key OFFSET 0) s ON true
LEFT JOIN LATERAL (SELECT id, gap_ms, least_gap_ms, next_start_at FROM lane WHERE lane.key = k.key OFFSET 0) n ON true
