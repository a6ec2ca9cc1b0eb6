SELECT e.id, e.grp, e.asked, e.state, e.wiki, e.pageid, e.title, e.requests, e.done, e.total, e.new, e.erased, e.note, e.asked_at,
       e.started_at, e.changed_at, e.finished_at
FROM wiki_extraction e
