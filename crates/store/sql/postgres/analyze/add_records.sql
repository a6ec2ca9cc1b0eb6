-- The first records of a part seal it.
WITH in_part AS (
    INSERT INTO analysis_part AS p (analysis, part, sealed, dimension_bytes) VALUES ($1, $3, true, 0)
    ON CONFLICT (analysis, part) DO UPDATE SET sealed = true WHERE NOT p.sealed
), known AS (
    INSERT INTO analysis_batch (analysis, input, part, seq, hash, size, mapped) VALUES ($1, $2, $3, $4, $5, $6, false)
)
INSERT INTO analysis_waiting (analysis, input, part, seq, task, bytes, packed) VALUES ($1, $2, $3, $4, $8, octet_length($7::bytea), $7)
