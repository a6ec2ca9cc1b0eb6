SELECT a.id, a.grp, a.kind, a.params, a.state, a.created_at, a.changed_at, a.finished_at, a.expected, a.taken, a.mapped,
       a.bytes, a.waiting_bytes, a.lines_read, a.lines_bad, a.samples, a.why
FROM analysis a
