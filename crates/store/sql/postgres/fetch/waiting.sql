-- The counters are a few rows; one seek in dedup for each key.
SELECT (SELECT coalesce(sum(open), 0)::bigint FROM tally WHERE kind = 'fetch.page'),
       (SELECT count(*) FROM unnest($1::text[]) AS k (key) WHERE (SELECT task FROM dedup WHERE room = 'fetch' AND dedup.key = k.key) IS NULL)
