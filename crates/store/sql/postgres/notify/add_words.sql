INSERT INTO event_words (event, words)
SELECT n.event, array_to_tsvector(string_to_array(n.words, ' ')) FROM unnest($1::bigint[], $2::text[]) AS n (event, words)
