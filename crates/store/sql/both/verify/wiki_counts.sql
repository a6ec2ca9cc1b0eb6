-- A wiki has as many pages and revisions as it says.
SELECT 'wiki number ' || w.id || ' says ' || w.pages || ' pages and ' || w.revisions || ' revisions, but has ' || coalesce(p.n, 0)
       || ' and ' || coalesce(r.n, 0)
FROM wiki w
LEFT JOIN (SELECT wiki, count(*) AS n FROM wiki_page GROUP BY 1) p ON p.wiki = w.id
LEFT JOIN (SELECT wiki, count(*) AS n FROM wiki_revision GROUP BY 1) r ON r.wiki = w.id
WHERE w.pages <> coalesce(p.n, 0) OR w.revisions <> coalesce(r.n, 0)
