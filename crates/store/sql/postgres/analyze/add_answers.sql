INSERT INTO analysis_answer (analysis, name, body)
SELECT $1, n.name, n.body FROM unnest($2::text[], $3::bytea[]) AS n (name, body)
