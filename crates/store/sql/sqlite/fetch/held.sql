-- The lease table is as small as what runs: read whole.
SELECT task, nonce FROM lease WHERE holder = ?1 AND started_at >= ?2
