-- From the first on, as many as a step may.
DELETE FROM answer WHERE ctid = ANY (ARRAY(
    SELECT a.ctid FROM unnest($1::bigint[]) WITH ORDINALITY AS j (id, ord)
    CROSS JOIN LATERAL (SELECT ctid, n FROM answer WHERE answer.job = j.id ORDER BY n LIMIT $2) a
    ORDER BY j.ord, a.n LIMIT $2
))
