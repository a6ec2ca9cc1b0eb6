-- in one order, so that two who count the same wait for each other
INSERT INTO wiki_month (wiki, month, edits, minor, anonymous)
SELECT n.wiki, n.month, n.edits, n.minor, n.anonymous
FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[]) AS n (wiki, month, edits, minor, anonymous)
ORDER BY n.wiki, n.month
ON CONFLICT (wiki, month) DO UPDATE
SET edits = wiki_month.edits + excluded.edits, minor = wiki_month.minor + excluded.minor,
    anonymous = wiki_month.anonymous + excluded.anonymous
