SELECT coalesce(sum(open), 0) FROM tally
