-- Nothing if a device at work has the name and another secret.
INSERT INTO device (name, owner, grp, secret_hash, about, joined_at, seen_at, measures, tally)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6, '{}', '{}')
ON CONFLICT (owner, name) DO UPDATE SET
    grp = ?3, secret_hash = ?4, about = ?5, joined_at = ?6, seen_at = ?6, has_left = 0
WHERE device.secret_hash = ?4 OR device.has_left = 1 OR device.blocked = 1 OR device.seen_at < ?7
RETURNING id
