-- the newest: the last entry of the page in wiki_revision_history
UPDATE wiki_page SET revisions = wiki_page.revisions + n.more, version = wiki_page.version + 1,
       (newest_at, newest_revid) = (
           SELECT r.at, r.revid FROM wiki_revision r WHERE r.page = wiki_page.id ORDER BY r.at DESC, r.revid DESC LIMIT 1
       )
FROM unnest($1::bigint[], $2::bigint[]) AS n (id, more)
WHERE wiki_page.id = ANY ($1) AND wiki_page.id = n.id
