UPDATE wiki_page SET title = ?2, ns = ?3, deleted = ?4,
       mark_at = coalesce(?5, mark_at), mark_revid = coalesce(?6, mark_revid),
       complete_at = CASE WHEN ?7 THEN coalesce(complete_at, ?11) ELSE complete_at END,
       reconciled_at = CASE WHEN ?8 THEN ?11 ELSE reconciled_at END,
       visited_at = CASE WHEN ?9 THEN ?11 ELSE visited_at END,
       last_extraction = CASE WHEN ?9 THEN ?11 ELSE last_extraction END,
       last_block = CASE WHEN ?10 IS NULL THEN last_block ELSE max(coalesce(last_block, 0), ?10) END
WHERE id = ?1
