UPDATE wiki_page SET watched = $3 WHERE wiki = $1 AND pageid = $2
