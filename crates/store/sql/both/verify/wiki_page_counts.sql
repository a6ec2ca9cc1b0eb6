-- A page has as many revisions as it says, and the newest is the newest.
SELECT 'page ' || p.pageid || ' of wiki number ' || p.wiki || ' says ' || p.revisions || ' revisions up to '
       || coalesce(p.newest_revid, 0) || ', but has ' || coalesce(r.n, 0) || ' up to ' || coalesce(l.revid, 0)
FROM wiki_page p
LEFT JOIN (SELECT page, count(*) AS n FROM wiki_revision GROUP BY 1) r ON r.page = p.id
LEFT JOIN (
    SELECT page, at, revid, row_number() OVER (PARTITION BY page ORDER BY at DESC, revid DESC) AS place FROM wiki_revision
) l ON l.page = p.id AND l.place = 1
WHERE p.revisions <> coalesce(r.n, 0) OR coalesce(p.newest_at, -1) <> coalesce(l.at, -1)
   OR coalesce(p.newest_revid, -1) <> coalesce(l.revid, -1)
