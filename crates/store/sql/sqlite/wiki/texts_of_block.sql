-- the primary key would read all texts of the page
SELECT hash, block, start, length FROM wiki_text INDEXED BY wiki_text_block WHERE page = ?1 AND block = ?2 ORDER BY start, length
