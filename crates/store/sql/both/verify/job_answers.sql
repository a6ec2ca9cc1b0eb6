-- Answers are numbered without a gap. (Those of an old job are forgotten from the first on.)
SELECT 'job number ' || j.id || ' has ' || j.done || ' answers, but they end at ' || a.last || ' and are ' || a.n
FROM job j JOIN (SELECT job, max(n) AS last, max(n) - min(n) + 1 AS span, count(*) AS n FROM answer GROUP BY 1) a ON a.job = j.id
WHERE a.last <> j.done OR a.span <> a.n
