-- A month of a wiki has as many edits as is said, of each kind, and none is said to have none. Days are counted from 0000-03-01,
-- and months from the year 0.
WITH days AS (
    SELECT wiki, flags, (at + 62162035200000) / 86400000 / 146097 AS era, (at + 62162035200000) / 86400000 % 146097 AS day
    FROM wiki_revision
), years AS (
    SELECT wiki, flags, era, day, (day - day / 1460 + day / 36524 - day / 146096) / 365 AS year FROM days
), counts AS (
    SELECT wiki, (era * 400 + year) * 12 + (5 * (day - (365 * year + year / 4 - year / 100)) + 2) / 153 + 2 AS month,
           count(*) AS edits, sum(flags & 1) AS minor, sum((flags & 2) / 2) AS anonymous
    FROM years GROUP BY 1, 2
)
SELECT 'month ' || m.month || ' of wiki number ' || m.wiki || ' is said to have ' || m.edits || ' edits, but has ' || coalesce(c.edits, 0)
FROM wiki_month m LEFT JOIN counts c ON c.wiki = m.wiki AND c.month = m.month
WHERE m.edits = 0 OR m.edits <> coalesce(c.edits, 0) OR m.minor <> coalesce(c.minor, 0) OR m.anonymous <> coalesce(c.anonymous, 0)
UNION ALL
SELECT 'month ' || c.month || ' of wiki number ' || c.wiki || ' is not counted'
FROM counts c LEFT JOIN wiki_month m ON m.wiki = c.wiki AND m.month = c.month WHERE m.month IS NULL
