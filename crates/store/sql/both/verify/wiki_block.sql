-- A page knows its last block.
SELECT 'page ' || p.pageid || ' of wiki number ' || p.wiki || ' says that block ' || coalesce(p.last_block, -1) || ' is the last, but it is '
       || coalesce(b.last, -1)
FROM wiki_page p LEFT JOIN (SELECT page, max(number) AS last FROM wiki_block GROUP BY 1) b ON b.page = p.id
WHERE coalesce(p.last_block, -1) <> coalesce(b.last, -1)
