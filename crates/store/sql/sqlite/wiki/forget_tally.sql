DELETE FROM wiki_tally WHERE page = ?1 AND (at, revid) >= (?2, ?3)
