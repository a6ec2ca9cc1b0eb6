UPDATE lease SET expires_at = $3 FROM unnest($1::bigint[], $2::bigint[]) AS h (task, nonce)
WHERE lease.task = h.task AND lease.nonce = h.nonce
RETURNING lease.task, lease.nonce
