-- of those that have become fewer
DELETE FROM wiki_month WHERE edits = 0 AND (wiki, month) IN (SELECT n.wiki, n.month FROM unnest($1::bigint[], $2::bigint[]) AS n (wiki, month))
