-- Bytes are in one place: in the row, or in the object that it names.
SELECT 'body ' || b.id || ' is ' || CASE WHEN b.object IS NULL THEN 'nowhere' ELSE 'in two places' END
FROM body b WHERE (b.object IS NULL) = (length(b.packed) = 0)
UNION ALL
SELECT 'block ' || b.number || ' of page number ' || b.page || ' is ' || CASE WHEN b.object IS NULL THEN 'nowhere' ELSE 'in two places' END
FROM wiki_block b WHERE (b.object IS NULL) = (length(b.packed) = 0)
UNION ALL
SELECT 'the object ' || d.name || ' is to be removed, and somebody needs it'
FROM dead_object d WHERE d.name IN (SELECT object FROM body WHERE object IS NOT NULL UNION ALL SELECT object FROM wiki_block WHERE object IS NOT NULL)
