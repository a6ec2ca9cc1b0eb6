SELECT t.hash, t.block, t.start, t.length
FROM unnest($3::bytea[]) AS n (hash)
CROSS JOIN LATERAL (
    SELECT * FROM wiki_text
    WHERE page = (SELECT p.id FROM wiki_page p WHERE p.wiki = $1 AND p.pageid = $2) AND wiki_text.hash = n.hash OFFSET 0
) t
