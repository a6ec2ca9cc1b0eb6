SELECT 'body ' || b.id || ' says that ' || b.pages || ' pages have it, and ' || coalesce(p.n, 0) || ' do'
FROM body b LEFT JOIN (SELECT body, count(*) AS n FROM page WHERE body IS NOT NULL GROUP BY body) p ON p.body = b.id
WHERE b.pages <> coalesce(p.n, 0)
