-- by primary key, one seek a page
SELECT s.key, p.url FROM json_each(?1) n JOIN page p ON p.id = n.value JOIN shelf s ON s.key = p.key AND s.page = p.id
