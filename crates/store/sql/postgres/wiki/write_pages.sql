-- The pulse is of the newest revisions, the larger of 20 and a tenth of all: the last entries in wiki_revision_history.
UPDATE wiki_page SET title = n.title, ns = n.ns, deleted = n.deleted,
       mark_at = coalesce(n.mark_at, wiki_page.mark_at), mark_revid = coalesce(n.mark_revid, wiki_page.mark_revid),
       complete_at = CASE WHEN n.complete THEN coalesce(wiki_page.complete_at, $11) ELSE wiki_page.complete_at END,
       reconciled_at = CASE WHEN n.reconciled THEN $11 ELSE wiki_page.reconciled_at END,
       visited_at = CASE WHEN n.visited THEN $11 ELSE wiki_page.visited_at END,
       last_extraction = CASE WHEN n.visited THEN $11 ELSE wiki_page.last_extraction END,
       last_block = greatest(wiki_page.last_block, n.last_block),
       pulse_edits = CASE WHEN n.complete THEN least(wiki_page.revisions, greatest(20, wiki_page.revisions / 10)) ELSE wiki_page.pulse_edits END,
       pulse_last = CASE WHEN n.complete THEN wiki_page.newest_at ELSE wiki_page.pulse_last END,
       pulse_first = CASE WHEN n.complete THEN (
           SELECT r.at FROM wiki_revision r WHERE r.page = wiki_page.id ORDER BY r.at DESC, r.revid DESC
           LIMIT 1 OFFSET greatest(least(wiki_page.revisions, greatest(20, wiki_page.revisions / 10)) - 1, 0)
       ) ELSE wiki_page.pulse_first END
FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::boolean[], $5::bigint[], $6::bigint[], $7::boolean[], $8::boolean[],
            $9::boolean[], $10::bigint[])
     AS n (id, title, ns, deleted, mark_at, mark_revid, complete, reconciled, visited, last_block)
WHERE wiki_page.id = ANY ($1) AND wiki_page.id = n.id
