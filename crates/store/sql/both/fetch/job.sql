SELECT j.id, j.grp, j.total, j.done, j.good, j.cached, j.cancelled, j.finished_at, j.quiet, j.verified FROM job j
