-- the newest ?2 revisions: the last entries of the page in the primary key
UPDATE wiki_page SET pulse_edits = ?2, pulse_last = newest_at,
       pulse_first = (SELECT at FROM wiki_revision WHERE page = ?1 ORDER BY at DESC, revid DESC LIMIT 1 OFFSET ?2 - 1)
WHERE id = ?1
