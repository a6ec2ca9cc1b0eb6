INSERT INTO wiki_tag (tag, wiki, revid)
SELECT n.tag, n.wiki, n.revid FROM unnest($1::text[], $2::bigint[], $3::bigint[]) AS n (tag, wiki, revid)
ON CONFLICT DO NOTHING
