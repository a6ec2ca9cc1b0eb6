-- behind the page's lock, where its version and its revisions say the same
INSERT INTO wiki_tally (page, at, revid, packed)
SELECT p.id, $4::bigint, $5::bigint, $6::bytea FROM wiki_page p WHERE p.wiki = $1 AND p.pageid = $2 AND p.version = $3 FOR NO KEY UPDATE
ON CONFLICT (page) DO UPDATE SET at = excluded.at, revid = excluded.revid, packed = excluded.packed
