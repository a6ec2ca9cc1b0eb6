-- the newest: the last entry of the page in the primary key
UPDATE wiki_page SET revisions = revisions + ?2, version = version + 1,
       (newest_at, newest_revid) = (SELECT at, revid FROM wiki_revision WHERE page = ?1 ORDER BY at DESC, revid DESC LIMIT 1)
WHERE id = ?1
RETURNING revisions
