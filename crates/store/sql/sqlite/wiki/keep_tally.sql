INSERT INTO wiki_tally (page, at, revid, packed)
SELECT id, ?4, ?5, ?6 FROM wiki_page WHERE wiki = ?1 AND pageid = ?2 AND version = ?3
ON CONFLICT (page) DO UPDATE SET at = excluded.at, revid = excluded.revid, packed = excluded.packed
