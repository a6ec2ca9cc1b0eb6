-- Records that were mapped on their way in.
WITH known AS (
    INSERT INTO analysis_batch (analysis, input, part, seq, hash, size, mapped) VALUES ($1, $2, $3, $4, $5, $6, true)
)
INSERT INTO analysis_partial (analysis, part, input, seq, partial) VALUES ($1, $3, $2, $4, $7)
