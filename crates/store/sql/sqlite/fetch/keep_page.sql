UPDATE page SET kept_until = max(kept_until, ?2) WHERE id = ?1
