UPDATE shelf SET used_at = ?2 WHERE key = ?1
