-- One seek each; the parts are counted only for one that is new, and waiting are as many as are in analysis_under_way.
SELECT (SELECT hash FROM analysis_batch WHERE analysis = $1 AND input = $2 AND part = $3 AND seq = $4),
       p.sealed, coalesce(p.dimension_bytes, 0),
       CASE WHEN p.sealed IS NULL THEN (SELECT count(*) FROM analysis_part WHERE analysis = $1) ELSE 0 END,
       (SELECT coalesce(sum(waiting_bytes), 0)::bigint FROM analysis WHERE state < 2)
FROM (SELECT 1) one LEFT JOIN LATERAL (SELECT sealed, dimension_bytes FROM analysis_part WHERE analysis = $1 AND part = $3) p ON true
