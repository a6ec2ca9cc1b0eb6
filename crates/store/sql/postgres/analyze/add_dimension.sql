WITH in_part AS (
    INSERT INTO analysis_part AS p (analysis, part, sealed, dimension_bytes) VALUES ($1, $3, false, octet_length($7::bytea))
    ON CONFLICT (analysis, part) DO UPDATE SET dimension_bytes = p.dimension_bytes + excluded.dimension_bytes
), known AS (
    INSERT INTO analysis_batch (analysis, input, part, seq, hash, size, mapped) VALUES ($1, $2, $3, $4, $5, $6, true)
)
INSERT INTO analysis_dimension (analysis, part, input, seq, packed) VALUES ($1, $3, $2, $4, $7)
