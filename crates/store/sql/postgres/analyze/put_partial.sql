-- Tells how many packed bytes waited; nothing if the batch is mapped already.
WITH waited AS (
    DELETE FROM analysis_waiting WHERE analysis = $1 AND input = $2 AND part = $3 AND seq = $4 RETURNING bytes
), known AS (
    UPDATE analysis_batch SET mapped = true
    WHERE analysis = $1 AND input = $2 AND part = $3 AND seq = $4 AND (SELECT count(*) FROM waited) > 0
), put AS (
    INSERT INTO analysis_partial (analysis, part, input, seq, partial) SELECT $1, $3, $2, $4, $5::bytea FROM waited
)
SELECT bytes FROM waited
