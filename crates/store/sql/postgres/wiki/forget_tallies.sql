DELETE FROM wiki_tally USING unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS n (page, at, revid)
WHERE wiki_tally.page = ANY ($1) AND wiki_tally.page = n.page AND (wiki_tally.at, wiki_tally.revid) >= (n.at, n.revid)
