SELECT d.id, d.name, d.owner, d.grp, d.about, d.blocked, d.joined_at, d.seen_at, d.has_left, d.measures, d.tally
FROM device d
