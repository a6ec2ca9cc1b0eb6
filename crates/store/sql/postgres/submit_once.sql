-- With a token that keeps the answer.
WITH done AS MATERIALIZED (
    SELECT ids, fresh, rouse FROM malla_submit($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)
), kept AS (
    INSERT INTO commit_token (token, ids, fresh) SELECT $16, done.ids, done.fresh FROM done
)
SELECT ids, fresh, rouse FROM done
