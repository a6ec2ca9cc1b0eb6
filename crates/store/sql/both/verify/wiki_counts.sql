-- A wiki has as many pages, revisions and editors as it says.
SELECT 'wiki number ' || w.id || ' says ' || w.pages || ' pages, ' || w.revisions || ' revisions and ' || w.editors || ' editors, but has '
       || coalesce(p.n, 0) || ', ' || coalesce(r.n, 0) || ' and ' || coalesce(r.editors, 0)
FROM wiki w
LEFT JOIN (SELECT wiki, count(*) AS n FROM wiki_page GROUP BY 1) p ON p.wiki = w.id
LEFT JOIN (SELECT wiki, count(*) AS n, count(DISTINCT editor) AS editors FROM wiki_revision GROUP BY 1) r ON r.wiki = w.id
WHERE w.pages <> coalesce(p.n, 0) OR w.revisions <> coalesce(r.n, 0) OR w.editors <> coalesce(r.editors, 0)
