INSERT INTO lease (task, lane, nonce, started_at, expires_at, prio, kind, grp, holder, dedup)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
