SELECT kind, grp, failures, retry, payload, dedup FROM task WHERE id = ?1
