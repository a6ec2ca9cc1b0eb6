-- as many as are in wiki_extraction_under_way
SELECT count(*) FROM wiki_extraction WHERE state < 2
