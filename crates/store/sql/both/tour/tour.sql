SELECT t.id, t.grp, t.kind, t.state, t.spec, t.progress, t.answers, t.asked, t.sitemaps, t.found, t.waiting, t.trapped, t.left_out, t.versions, t.weight, t.note, t.finished_at FROM tour t
