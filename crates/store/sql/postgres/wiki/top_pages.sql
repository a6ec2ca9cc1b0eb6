-- the first entries of the wiki in wiki_page_revisions
SELECT pageid, title, revisions FROM wiki_page WHERE wiki = $1 AND revisions > 0 ORDER BY revisions DESC, pageid LIMIT $2
