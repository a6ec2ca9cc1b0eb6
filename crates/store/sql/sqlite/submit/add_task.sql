INSERT INTO task (id, lane, kind, grp, state, prio, run_at, parent, dedup, retry, payload)
VALUES (?1, ?2, ?3, ?4, 0, ?5, ?6, ?7, ?8, ?9, ?10)
