-- as many as are in analysis_under_way
SELECT count(*) FROM analysis WHERE state < 2
