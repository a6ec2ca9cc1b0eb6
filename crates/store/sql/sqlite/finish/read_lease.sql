SELECT l.lane, l.nonce, l.prio, l.kind, l.grp, l.dedup, n.room FROM lease l JOIN lane n ON n.id = l.lane WHERE l.task = ?1
