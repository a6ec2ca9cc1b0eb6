SELECT p.id, p.name, p.grp, p.options, p.version, p.created_at FROM endpoint p
