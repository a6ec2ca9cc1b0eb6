SELECT a.id, a.name, a.grp, a.spec, a.firing, a.last_fired_at, a.created_at FROM alert a
