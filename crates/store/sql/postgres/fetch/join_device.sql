INSERT INTO device (name, owner, grp, secret_hash, about, joined_at, seen_at, measures, tally)
VALUES ($1, $2, $3, $4, $5, $6, $6, '{}', '{}')
ON CONFLICT (owner, name) DO UPDATE SET
    grp = $3, secret_hash = $4, about = $5, joined_at = $6, seen_at = $6, has_left = false
RETURNING id
