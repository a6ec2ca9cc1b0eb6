SELECT p.wiki, p.pageid, p.title, p.ns, p.deleted, p.first_extraction, p.last_extraction, p.newest_at, p.newest_revid, p.mark_at,
       p.mark_revid, p.complete_at, p.reconciled_at, p.visited_at, p.pulse_edits, p.pulse_first, p.pulse_last, p.revisions,
       p.version, p.last_block, p.watched
FROM wiki_page p
