-- a few rows, one a group
SELECT coalesce(sum(open), 0) FROM tally WHERE kind = 'fetch.page'
