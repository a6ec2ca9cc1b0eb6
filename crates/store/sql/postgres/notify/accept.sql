-- With a token that keeps the answer.
WITH done AS MATERIALIZED (
    SELECT ids, rouse FROM malla_accept($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)
), kept AS (
    INSERT INTO commit_token (token, ids) SELECT $15, done.ids FROM done
)
SELECT ids, rouse FROM done
