UPDATE wiki_extraction SET state = ?2, wiki = coalesce(?3, wiki), pageid = coalesce(?4, pageid), title = coalesce(?5, title),
       requests = ?6, done = ?7, total = ?8, new = ?9, erased = ?10, note = ?11,
       started_at = coalesce(started_at, ?12), changed_at = ?12, finished_at = CASE WHEN ?2 >= 2 THEN ?12 END, task = ?13
WHERE id = ?1 AND state < 2
