-- An analysis that is under way has as many batches as it says.
SELECT 'analysis number ' || a.id || ' says ' || a.taken || ' batches, ' || a.mapped || ' of them mapped, but has '
       || coalesce(b.taken, 0) || ' and ' || coalesce(b.mapped, 0)
FROM analysis a
LEFT JOIN (
    SELECT analysis, count(*) AS taken, count(CASE WHEN mapped THEN 1 END) AS mapped FROM analysis_batch GROUP BY 1
) b ON b.analysis = a.id
WHERE a.state < 2 AND (a.taken <> coalesce(b.taken, 0) OR a.mapped <> coalesce(b.mapped, 0))
