-- by primary key, one seek a page
SELECT s.key, p.url FROM unnest($1::bigint[]) AS n (id) JOIN page p ON p.id = n.id JOIN shelf s ON s.key = p.key AND s.page = p.id
