-- a seek in the primary key of wish for each
SELECT h.ord FROM unnest($1::bigint[]) WITH ORDINALITY AS h (task, ord)
WHERE (SELECT true FROM wish w WHERE w.task = h.task AND (SELECT NOT j.cancelled FROM job j WHERE j.id = w.job) LIMIT 1)
ORDER BY h.ord
